import type { JSX } from 'preact';
import { connection } from '../stores/api.ts';
import type { Conversation } from '../stores/conversation.ts';
import { dialog } from '../stores/dialogs.ts';
import { go } from '../stores/route.ts';
import { channelOf, nameOf } from '../stores/session-keys.ts';
import { t } from '../strings.ts';
import { ListButton } from '../ui/list-button.tsx';
import { Menu, type MenuEntry } from '../ui/menu.tsx';
import { ContextBar } from './context-bar.tsx';
import { withSteps } from './steps-later.ts';

export function ChatHeader({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const view = conversation.history.view.value;
  const where = view === undefined ? undefined : channelOf(view);
  const notes = [conversation.agentId, where ?? ''].filter((note) => note !== '' && note !== 'main');
  return (
    <header class="chat-head">
      <ListButton />
      <div class="title">
        <h1>
          {view === undefined ? t(conversation.state.value === 'new' ? 'newChat' : 'chat') : nameOf(view)}
        </h1>
        {notes.length > 0 && <span class="notes">{notes.join(' · ')}</span>}
      </div>
      <ContextBar conversation={conversation} />
      {view !== undefined && <Menu label={t('sessionActions')} entries={entries(conversation)} />}
      {connection.value === 'reconnecting' && (
        <p class="banner only-narrow" role="status">
          {t('notAnswering')}
        </p>
      )}
      {view?.status === 'deleted' && (
        <p class="banner">
          {t('inTrash')}
          <button type="button" onClick={() => void withSteps((steps) => steps.restoreSession(conversation))}>
            {t('restore')}
          </button>
        </p>
      )}
      {view?.corruptAt !== undefined && <p class="banner wrong">{t('damaged')}</p>}
      {view?.parentId !== undefined && view.status !== 'deleted' && (
        <p class="banner quiet">
          {t('fromSession')}
          <button
            type="button"
            class="link"
            onClick={() => go({ view: 'session', agentId: view.agentId, sessionId: view.parentId ?? '' })}
          >
            {t('openParent')}
          </button>
        </p>
      )}
    </header>
  );
}

function entries(conversation: Conversation): MenuEntry[] {
  const { status } = conversation.history.view.value ?? {};
  if (status === 'deleted')
    return [
      {
        label: t('restore'),
        icon: 'undo',
        run: () => void withSteps((steps) => steps.restoreSession(conversation)),
      },
    ];
  const open =
    (kind: 'rename' | 'tree' | 'compact'): (() => void) =>
    () => {
      dialog.value = { kind, conversation };
    };
  return [
    { label: t('rename'), icon: 'edit', run: open('rename') },
    { label: t('tree'), icon: 'tree', run: open('tree') },
    { label: t('compact'), icon: 'fold', run: open('compact') },
    {
      label: t('export'),
      icon: 'down',
      run: () => void withSteps((steps) => steps.exportSession(conversation)),
    },
    { label: t('forkAll'), icon: 'fork', run: () => void withSteps((steps) => steps.forkAt(conversation)) },
    {
      label: t('undoTurn'),
      icon: 'undo',
      run: () => void withSteps((steps) => steps.undoStep(conversation)),
    },
    { label: t('redo'), icon: 'retry', run: () => void withSteps((steps) => steps.redoStep(conversation)) },
    {
      label: t('remove'),
      icon: 'trash',
      run: () => void withSteps((steps) => steps.removeSession(conversation)),
      danger: true,
    },
  ];
}
