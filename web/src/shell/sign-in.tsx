import { useSignal } from '@preact/signals';
import type { JSX, TargetedSubmitEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { RepriseError } from 'reprise/client';
import { failureText, probe } from '../api/api.ts';
import { setToken, signInReason } from '../api/auth.ts';
import { t } from '../i18n/strings.ts';

export function SignIn(): JSX.Element {
  const value = useSignal('');
  const keep = useSignal(false);
  const told = useSignal('');
  const isBusy = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const given = value.value.trim();
    if (given === '' || isBusy.value) return;
    isBusy.value = true;
    told.value = '';
    try {
      await probe(given);
      setToken(given, { keep: keep.value });
    } catch (error) {
      const isWrong = error instanceof RepriseError && error.code === 'UNAUTHORIZED';
      told.value = isWrong ? t('tokenWrong') : (failureText(error) ?? '');
      field.current?.select();
    } finally {
      isBusy.value = false;
    }
  };
  const reason = signInReason.value === 'changed' ? t('tokenGone') : '';
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1>Reprise</h1>
        {reason !== '' && <p class="notice">{reason}</p>}
        <label for="token">{t('token')}</label>
        <input
          id="token"
          ref={field}
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          value={value.value}
          aria-describedby="token-help token-error"
          onInput={(event) => {
            value.value = event.currentTarget.value;
          }}
        />
        <p id="token-help" class="hint">
          {t('tokenHelp')}
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={keep.value}
            onChange={(event) => {
              keep.value = event.currentTarget.checked;
            }}
          />
          {t('keepMe')}
        </label>
        <p id="token-error" role="alert" class="wrong">
          {told.value}
        </p>
        <button type="submit" class="primary" disabled={isBusy.value}>
          {t('signIn')}
        </button>
      </form>
    </main>
  );
}
