import { render } from 'preact';
import { App } from './app.tsx';
import { probe } from './stores/api.ts';
import { loadToken, shareToken } from './stores/auth.ts';
import { keepOpen } from './stores/open-conversations.ts';
import { startRouting } from './stores/route.ts';
import { keepListing } from './stores/sessions.ts';
import { loadTheme } from './stores/theme.ts';
import { say } from './stores/toasts.ts';
import { loadLanguage, t } from './strings.ts';

// First of all: the token does not stay where people copy addresses from.
const readLink = (): void =>
  loadToken({ probe, onRefused: () => say(t('linkTokenRefused'), { kind: 'error' }) });
readLink();
addEventListener('hashchange', readLink);
shareToken();
startRouting();
loadTheme();
keepListing();
keepOpen();
const place = document.getElementById('app');
void loadLanguage().then(() => {
  if (place !== null) render(<App />, place);
});
