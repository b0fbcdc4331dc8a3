import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { attempt } from '../api/api.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { t } from '../i18n/strings.ts';

/** Kinds a browser only paints. */
const PAINTED = /^image\/(?:png|jpeg|gif|webp|avif)$/;

export interface PicturesProps {
  readonly conversation: Conversation;
  readonly content: readonly unknown[];
}

/** The images of a message: bytes that came with it, or that the server keeps beside it. Nothing comes from elsewhere. */
export function Pictures({ conversation, content }: PicturesProps): JSX.Element | null {
  const pictures = content.flatMap((block, i) => {
    if (typeof block !== 'object' || block === null) return [];
    const { type, data, mimeType, blob } = block as Readonly<Record<string, unknown>>;
    if (typeof mimeType !== 'string' || !PAINTED.test(mimeType)) return [];
    if (type === 'image' && typeof data === 'string')
      return [<img key={i} src={`data:${mimeType};base64,${data}`} alt={t('image')} loading="lazy" />];
    if (typeof blob === 'string')
      return [<StoredPicture key={i} conversation={conversation} blob={blob} mimeType={mimeType} />];
    return [];
  });
  return pictures.length === 0 ? null : <div class="pictures">{pictures}</div>;
}

interface StoredPictureProps {
  readonly conversation: Conversation;
  readonly blob: string;
  readonly mimeType: string;
}

function StoredPicture({ conversation, blob, mimeType }: StoredPictureProps): JSX.Element {
  const url = useSignal('');
  useEffect(() => {
    let isGone = false;
    void attempt(async () => {
      const bytes = await conversation.remote.blob(blob);
      if (!isGone) url.value = URL.createObjectURL(new Blob([bytes], { type: mimeType }));
    });
    return () => {
      isGone = true;
      URL.revokeObjectURL(url.value);
    };
  }, [blob]);
  return url.value === '' ? (
    <span class="badge">{t('image')}</span>
  ) : (
    <img src={url.value} alt={t('image')} />
  );
}
