import type { JSX } from 'preact';
import { duration } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Icon } from '../ui/icon.tsx';
import { briefInput } from './brief-input.ts';

export interface ToolRowProps {
  readonly name: string;
  readonly input: unknown;
  readonly result?:
    | { readonly text: string; readonly isError: boolean; readonly durationMs?: number | undefined }
    | undefined;
  readonly isShortened?: boolean;
  /** Its turn has ended without a result. */
  readonly isDead?: boolean;
}

/** A call and what came back, in one line until it is opened. */
export function ToolRow({
  name,
  input,
  result,
  isShortened = false,
  isDead = false,
}: ToolRowProps): JSX.Element {
  const state = result === undefined ? (isDead ? 'failed' : 'toolRuns') : result.isError ? 'failed' : 'ok';
  const whole = input === undefined ? '' : JSON.stringify(input, null, 2);
  return (
    <details class={`tool ${state}`}>
      <summary>
        <Icon name="tool" />
        <b>{name}</b>
        <span class="brief">{briefInput(input)}</span>
        {isShortened && <span class="badge">{t('shortenedOne')}</span>}
        {result?.durationMs !== undefined && <span class="took">{duration(result.durationMs)}</span>}
        <span class="state">{t(state)}</span>
      </summary>
      <p class="label">
        {t('input')} <CopyButton text={whole} />
      </p>
      <pre tabIndex={0}>{whole}</pre>
      {result !== undefined && (
        <>
          <p class="label">
            {t('result')} <CopyButton text={result.text} />
          </p>
          <pre tabIndex={0}>{result.text}</pre>
        </>
      )}
    </details>
  );
}
