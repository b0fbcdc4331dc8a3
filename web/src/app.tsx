import type { JSX } from 'preact';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';
import { token } from './stores/auth.ts';
import { Toasts } from './ui/toasts.tsx';

export function App(): JSX.Element {
  return (
    <>
      {token.value === '' ? <SignIn /> : <Shell />}
      <Toasts />
    </>
  );
}
