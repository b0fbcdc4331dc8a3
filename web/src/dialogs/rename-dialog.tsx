import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Conversation } from '../conversation/conversation.ts';
import { nameOf } from '../conversation/session-keys.ts';
import { renameSession } from '../conversation/steps.ts';
import { t } from '../i18n/strings.ts';
import { closeDialog } from '../shell/dialogs.ts';
import { Dialog } from '../ui/dialog.tsx';

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
