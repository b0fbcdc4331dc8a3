import type { JSX } from 'preact';
import type { Conversation } from '../conversation/conversation.ts';
import { redoStep, sayLastAgain } from '../conversation/steps.ts';
import type { Mark } from '../conversation/transcript-items.ts';
import { errorText, t } from '../i18n/strings.ts';
import { dialog } from '../shell/dialogs.ts';
import { go } from '../shell/route.ts';

export interface MarkLineProps {
  readonly conversation: Conversation;
  readonly mark: Mark;
}

/** A horizontal line for an event between messages. */
export function MarkLine({ conversation, mark }: MarkLineProps): JSX.Element {
  const { agentId } = conversation;
  return (
    <p class={`mark ${mark.kind}`}>
      <span>{markText(mark)}</span>
      {mark.kind === 'leaf' && (
        <>
          <button type="button" onClick={() => void redoStep(conversation)}>
            {t('redo')}
          </button>
          <button
            type="button"
            onClick={() => {
              dialog.value = { kind: 'tree', conversation };
            }}
          >
            {t('branches')}
          </button>
        </>
      )}
      {mark.kind === 'reset' && (
        <button type="button" onClick={() => go({ view: 'session', agentId, sessionId: mark.next })}>
          {t('openNext')}
        </button>
      )}
      {mark.kind === 'turn' && mark.isLast && conversation.canSayAgain && (
        <button type="button" onClick={() => void sayLastAgain(conversation)}>
          {t('again')}
        </button>
      )}
      {mark.kind === 'turn' && mark.turn.turnId !== '' && (
        <button
          type="button"
          onClick={() => {
            dialog.value = { kind: 'explain', conversation, turnId: mark.turn.turnId };
          }}
        >
          {t('explain')}
        </button>
      )}
    </p>
  );
}

function markText(mark: Mark): string {
  switch (mark.kind) {
    case 'undone':
      return t('compactionUndone');
    case 'shortened':
      return t('shortened', mark.count);
    case 'leaf':
      return t('wentBack');
    case 'reset':
      return t('reset');
    case 'lost':
      return t('lost', mark.text);
    case 'turn':
      if (mark.turn.status === 'aborted') return t('aborted');
      if (mark.turn.status !== 'error') return t('interrupted');
      return t('turnFailed', mark.turn.error === undefined ? '' : errorText(mark.turn.error)).trim();
  }
}
