import type { JSX } from 'preact';
import { token } from './api/auth.ts';
import { Shell } from './shell/shell.tsx';
import { SignIn } from './shell/sign-in.tsx';
import { Toasts } from './ui/toasts.tsx';

export function App(): JSX.Element {
  return (
    <>
      {token.value === '' ? <SignIn /> : <Shell />}
      <Toasts />
    </>
  );
}
