import type { JSX } from 'preact';
import type { StringName } from '../i18n/strings.ts';
import { t } from '../i18n/strings.ts';
import { Dialog } from '../ui/dialog.tsx';

const KEYS: readonly (readonly [keys: string, does: StringName])[] = [
  ['Enter', 'keySend'],
  ['Shift Enter', 'keyLine'],
  ['Esc', 'keyStop'],
  ['↑', 'keyEdit'],
  ['Ctrl K', 'keySearch'],
  ['/', 'keyFilter'],
  ['Alt N', 'keyNew'],
  ['Alt ↓ ↑', 'keyNext'],
  ['?', 'keyHelp'],
];

export function KeysDialog(): JSX.Element {
  return (
    <Dialog title={t('keys')}>
      <dl class="keys">
        {KEYS.map(([keys, does]) => (
          <div key={does}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{t(does)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
