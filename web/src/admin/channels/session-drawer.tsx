import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SessionView } from 'reprise/client';
import { attempt } from '../../api/api.ts';
import { Conversation } from '../../conversation/conversation.ts';
import { nameOf } from '../../conversation/session-keys.ts';
import { exportSession, removeSession, renameSession } from '../../conversation/steps.ts';
import { transcriptItems } from '../../conversation/transcript-items.ts';
import { t } from '../../i18n/strings.ts';
import { formatRoute } from '../../shell/route.ts';
import { Answer } from '../../transcript/answer.tsx';
import { MarkLine } from '../../transcript/mark-line.tsx';
import { Message } from '../../transcript/message.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Drawer } from './drawer.tsx';

export interface SessionDrawerProps {
  readonly session: SessionView;
  readonly onClose: () => void;
}

/** To read, rename or delete, not to talk in. */
export function SessionDrawer({ session, onClose }: SessionDrawerProps): JSX.Element {
  const { agentId, id } = session;
  const [conversation] = useState(() => new Conversation(agentId, id, { isReadOnly: true }));
  const asks = useSignal<'none' | 'rename' | 'delete'>('none');
  const title = useSignal(nameOf(session));
  useEffect(() => {
    void conversation.open();
    return () => conversation.close();
  }, [conversation]);
  const { history } = conversation;
  const view = history.view.value ?? session;
  const items = transcriptItems(history.rows.value).flatMap((item) =>
    item.type === 'fold' ? item.hidden : [item],
  );
  const ask = (what: 'rename' | 'delete') => () => {
    asks.value = what;
  };
  const done = (): void => {
    asks.value = 'none';
  };
  const entries = [
    { label: t('rename'), icon: 'edit', run: ask('rename') },
    { label: t('export'), icon: 'down', run: () => void exportSession(conversation) },
    { label: t('remove'), icon: 'trash', run: ask('delete'), danger: true },
  ] as const;
  return (
    <Drawer
      title={nameOf(view)}
      onClose={onClose}
      first={items[0]?.key}
      actions={
        <>
          <a class="button" href={formatRoute({ view: 'session', agentId, sessionId: id })}>
            {t('openChat')}
          </a>
          {view.status !== 'deleted' && <Menu label={t('sessionActions')} entries={() => entries} />}
        </>
      }
    >
      {asks.value === 'delete' && (
        <p class="banner wrong">
          {t('confirmDelete', nameOf(view))}
          <button
            type="button"
            class="danger"
            onClick={() => {
              done();
              void removeSession(conversation);
              onClose();
            }}
          >
            {t('yesDelete')}
          </button>
          <button type="button" onClick={done}>
            {t('cancel')}
          </button>
        </p>
      )}
      {asks.value === 'rename' && (
        <form
          class="banner"
          onSubmit={(event) => {
            event.preventDefault();
            done();
            if (title.value.trim() !== '') void renameSession(conversation, title.value.trim());
          }}
        >
          <input
            aria-label={t('title')}
            value={title.value}
            maxLength={500}
            onInput={(event) => {
              title.value = event.currentTarget.value;
            }}
          />
          <button type="submit">{t('save')}</button>
        </form>
      )}
      {history.hasOlder.value && (
        <button type="button" class="more" onClick={() => void attempt(() => history.loadOlder())}>
          {t('olderHits')}
        </button>
      )}
      {items.map((item) => (
        <div key={item.key} data-line={item.key}>
          {item.type === 'message' && <Message conversation={conversation} row={item.row} />}
          {item.type === 'answer' && <Answer conversation={conversation} item={item} />}
          {item.type === 'mark' && <MarkLine conversation={conversation} mark={item.mark} />}
        </div>
      ))}
    </Drawer>
  );
}
