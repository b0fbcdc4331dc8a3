import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { attempt } from '../stores/api.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { inOwnWords } from './own-words.ts';

export interface ToldDialogProps {
  readonly title: string;
  readonly text: string;
}

/** What a command answered. */
export function ToldDialog({ title, text: told }: ToldDialogProps): JSX.Element {
  const [text, setText] = useState(told);
  useEffect(() => {
    void attempt(async () => setText(await inOwnWords(told)));
  }, [told]);
  return (
    <Dialog title={title} wide>
      <pre class="told" tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={text} />
    </Dialog>
  );
}
