import type { JSX } from 'preact';
import { CopyButton } from '../ui/copy-button.tsx';
import { Dialog } from '../ui/dialog.tsx';

export interface ToldDialogProps {
  readonly title: string;
  readonly text: string;
}

export function ToldDialog({ title, text }: ToldDialogProps): JSX.Element {
  return (
    <Dialog title={title} wide>
      <pre class="told" tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={text} />
    </Dialog>
  );
}
