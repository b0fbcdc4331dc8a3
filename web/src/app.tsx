import type { JSX } from 'preact';
import { Shell } from './shell.tsx';
import { token } from './stores/auth.ts';
import { Later } from './ui/later.tsx';
import { Toasts } from './ui/toasts.tsx';

const loadSignIn = (): Promise<() => JSX.Element> => import('./sign-in.tsx').then(({ SignIn }) => SignIn);

export function App(): JSX.Element {
  return (
    <>
      {token.value === '' ? <Later load={loadSignIn} /> : <Shell />}
      <Toasts />
    </>
  );
}
