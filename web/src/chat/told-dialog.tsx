import type { JSX } from 'preact';
import { translateNote } from '../strings.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Dialog } from '../ui/dialog.tsx';

export interface ToldDialogProps {
  readonly title: string;
  readonly text: string;
}

/** What a command answered. */
export function ToldDialog({ title, text: told }: ToldDialogProps): JSX.Element {
  const text = translateNote(told);
  return (
    <Dialog title={title} wide>
      <pre class="told" tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={text} />
    </Dialog>
  );
}
