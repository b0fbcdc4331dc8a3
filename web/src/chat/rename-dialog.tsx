import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Conversation } from '../stores/conversation.ts';
import { closeDialog } from '../stores/dialogs.ts';
import { nameOf } from '../stores/session-keys.ts';
import { t } from '../strings.ts';
import { Dialog } from '../ui/dialog.tsx';
import { renameSession } from './steps.ts';

export function RenameDialog({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const view = conversation.history.view.value;
  const title = useSignal(view === undefined ? '' : nameOf(view));
  return (
    <Dialog title={t('rename')}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (title.value.trim() === '') return;
          closeDialog();
          void renameSession(conversation, title.value.trim());
        }}
      >
        <label for="title">{t('title')}</label>
        <input
          id="title"
          maxLength={500}
          value={title.value}
          onInput={(event) => {
            title.value = event.currentTarget.value;
          }}
          ref={(element) => element?.select()}
        />
        <button type="submit" class="primary">
          {t('save')}
        </button>
      </form>
    </Dialog>
  );
}
