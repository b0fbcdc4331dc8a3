import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import type { Recall } from './transcript-items.ts';

/** How many facts of its messages a summary still contains, and which it lost. */
export function RecallReport({ found, total, missing }: Recall): JSX.Element {
  return (
    <>
      <p>{t('recallLine', found, total)}</p>
      {found < total && <p class="label">{t('recallMissing', total - found)}</p>}
      {missing.length > 0 && (
        <ul class="lost" tabIndex={0}>
          {missing.map((fact) => (
            <li key={fact}>
              <code>{fact}</code>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
