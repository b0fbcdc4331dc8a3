import type { JSX } from 'preact';
import type { CodedAnswer } from 'reprise/client';
import { answerText } from '../i18n/strings.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Dialog } from '../ui/dialog.tsx';

export interface AnswerDialogProps {
  readonly title: string;
  readonly answer: CodedAnswer;
}

/** The answer to a command. */
export function AnswerDialog({ title, answer }: AnswerDialogProps): JSX.Element {
  const text = answerText(answer);
  return (
    <Dialog title={title} wide>
      <pre class="command-answer" tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={text} />
    </Dialog>
  );
}
