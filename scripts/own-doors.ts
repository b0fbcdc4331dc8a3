/** Loaded before an example (`npm run example examples/chat.ts`): `reprise` and its other doors mean the sources, unbuilt. */
import { registerHooks } from 'node:module';

const DOORS: Readonly<Record<string, string>> = {
  reprise: '../src/index.ts',
  'reprise/client': '../src/client/index.ts',
  'reprise/messages': '../src/messages/english.ts',
  'reprise/testing': '../testing/index.ts',
};

registerHooks({
  resolve: (name, context, next) => {
    const source = Object.hasOwn(DOORS, name) ? DOORS[name] : undefined;
    return next(source === undefined ? name : new URL(source, import.meta.url).href, context);
  },
});
