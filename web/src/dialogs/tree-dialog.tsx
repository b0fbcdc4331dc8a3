import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { attempt } from '../api/api.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { goToBranch } from '../conversation/steps.ts';
import { shortTime } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { closeDialog } from '../shell/dialogs.ts';
import { type Branch, branches } from '../transcript/branches.ts';
import { Dialog } from '../ui/dialog.tsx';

/** All branches of the conversation, one line for each stretch; one click goes there. */
export function TreeDialog({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const list = useSignal<readonly Branch[]>([]);
  useEffect(() => {
    void attempt(async () => {
      list.value = branches((await conversation.remote.tree({ limit: 10_000 })).data);
    });
  }, [conversation]);
  return (
    <Dialog title={t('tree')} wide>
      {list.value.length === 1 && <p class="hint">{t('treeNone')}</p>}
      <ol class="branches">
        {list.value.map(({ depth, leaf, first, count, isCurrent }) => (
          <li
            key={first.id}
            class={depth > 0 ? 'branch' : undefined}
            style={{ 'margin-inline-start': `${Math.min(depth, 8) * 24}px` }}
          >
            <button
              type="button"
              class={isCurrent ? 'here' : undefined}
              aria-current={isCurrent ? 'true' : undefined}
              onClick={() => {
                closeDialog();
                if (!isCurrent) void goToBranch(conversation, leaf);
              }}
            >
              <b>
                {first.role === 'user' ? t('you') : first.role === 'assistant' ? t('answer') : first.role}
              </b>
              <span class="brief">{first.text}</span>
              <span class="notes">
                {count === 1 ? t('oneMessage') : t('messages', count)} · {shortTime(first.timestamp)}
                {isCurrent && ` · ${t('here')}`}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </Dialog>
  );
}
