import type { JSX } from 'preact';
import type { Conversation } from '../stores/conversation.ts';
import { go } from '../stores/route.ts';
import { channelOf, nameOf } from '../stores/session-keys.ts';
import { t } from '../strings.ts';
import { ListButton } from '../ui/list-button.tsx';
import { Menu } from '../ui/menu.tsx';
import { ContextBar } from './context-bar.tsx';
import { menuOf, withSteps } from './steps-later.ts';

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
      {view !== undefined && (
        <Menu label={t('sessionActions')} entries={menuOf((menus) => menus.sessionEntries(conversation))} />
      )}
      {view?.status === 'deleted' && (
        <p class="banner">
          {t('inTrash')}
          <button type="button" onClick={() => void withSteps((steps) => steps.restoreSession(conversation))}>
            {t('restore')}
          </button>
        </p>
      )}
      {view?.corruptAt !== undefined && (
        <p class="banner wrong">
          {t('damaged')}
          <button
            type="button"
            onClick={() => void withSteps((steps) => steps.runCommand(conversation, '/repair'))}
          >
            {t('repair')}
          </button>
        </p>
      )}
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
