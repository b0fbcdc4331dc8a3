import type { JSX } from 'preact';
import { t } from '../strings.ts';

/** Kinds a browser only paints. */
const PAINTED = /^image\/(?:png|jpeg|gif|webp|avif)$/;

/** The images of a message. Only bytes that came with it: nothing is fetched from anywhere. */
export function Pictures({ content }: { readonly content: unknown }): JSX.Element | null {
  if (!Array.isArray(content)) return null;
  const pictures = content.flatMap((block: unknown, i) => {
    if (typeof block !== 'object' || block === null) return [];
    const { type, data, mimeType, blob, bytes } = block as Readonly<Record<string, unknown>>;
    if (type === 'image' && typeof data === 'string' && PAINTED.test(String(mimeType)))
      return [
        <img key={i} src={`data:${String(mimeType)};base64,${data}`} alt={t('image')} loading="lazy" />,
      ];
    if (typeof blob === 'string' && String(mimeType).startsWith('image/'))
      return [
        <span key={i} class="badge">
          {t('imageLarge', String(mimeType), Math.round(Number(bytes) / 1000))}
        </span>,
      ];
    return [];
  });
  return pictures.length === 0 ? null : <div class="pictures">{pictures}</div>;
}
