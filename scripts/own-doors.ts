/** Loaded before an example (`npm run example examples/chat.ts`): `reprise` and its subpaths mean the sources, unbuilt. */
import { registerHooks } from 'node:module';
import { ownSources } from './own-sources.ts';

const sources = ownSources();

registerHooks({
  resolve: (name, context, next) => next(sources[name] ?? name, context),
});
