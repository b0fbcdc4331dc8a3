import { render } from 'preact';
import { App } from './app.tsx';
import { preloadDialogs } from './chat/dialogs.tsx';
import { preloadSteps } from './chat/steps-later.ts';
import { loadLexer } from './markdown/lexer.ts';
import { loadToken } from './stores/auth.ts';
import { keepOpen } from './stores/open-conversations.ts';
import { startRouting } from './stores/route.ts';
import { keepListing } from './stores/sessions.ts';
import { loadTheme } from './stores/theme.ts';
import { loadLanguage } from './strings.ts';

// First of all: the token does not stay where people copy addresses from.
loadToken();
addEventListener('hashchange', loadToken);
startRouting();
loadTheme();
keepListing();
keepOpen();
const place = document.getElementById('app');
void loadLanguage().then(() => {
  if (place !== null) render(<App />, place);
  void loadLexer().then(preloadSteps).then(preloadDialogs);
});
