import { render } from 'preact';
import { probe } from './api/api.ts';
import { loadToken, shareToken } from './api/auth.ts';
import { App } from './app.tsx';
import { keepOpen } from './conversation/open-conversations.ts';
import { loadLanguage, t } from './i18n/strings.ts';
import { startRouting } from './shell/route.ts';
import { loadTheme } from './shell/theme.ts';
import { say } from './shell/toasts.ts';
import { keepListing } from './sidebar/sessions.ts';

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
