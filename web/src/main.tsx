import { effect } from '@preact/signals';
import { render } from 'preact';
import { askForCookie, probe, probeCookie } from './api/api.ts';
import { COOKIE, loadCookie, loadToken, token } from './api/auth.ts';
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
effect(() => {
  if (token.value !== '' && token.value !== COOKIE) void askForCookie(token.value);
});
startRouting();
loadTheme();
keepListing();
keepOpen();
const place = document.getElementById('app');
void Promise.all([loadLanguage(), loadCookie(probeCookie)]).then(() => {
  if (place !== null) render(<App />, place);
});
