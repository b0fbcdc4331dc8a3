import type { JSX } from 'preact';
import type { Picture } from '../conversation/pending.ts';
import { t } from '../i18n/strings.ts';
import { Icon } from '../ui/icon.tsx';

export interface AttachmentsProps {
  readonly pictures: readonly Picture[];
  readonly onRemove: (name: string) => void;
}

export function Attachments({ pictures, onRemove }: AttachmentsProps): JSX.Element | null {
  if (pictures.length === 0) return null;
  return (
    <ul class="attachments">
      {pictures.map(({ name, data, mimeType }) => (
        <li key={name}>
          <img src={`data:${mimeType};base64,${data}`} alt={name} />
          <button
            type="button"
            class="quiet small"
            aria-label={t('removeImage', name)}
            onClick={() => onRemove(name)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
