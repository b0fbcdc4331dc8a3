import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { commands, loadCommands } from '../conversation/commands.ts';
import { conversation } from '../conversation/open-conversations.ts';
import { messageText, t } from '../i18n/strings.ts';
import { closeDialog } from '../shell/dialogs.ts';
import { Dialog } from '../ui/dialog.tsx';

/** All commands; a click puts one into the composer. */
export function HelpDialog(): JSX.Element {
  useEffect(() => void loadCommands(), []);
  return (
    <Dialog title={t('helpTitle')} wide>
      <ul class="commands">
        {commands.value.map(({ name, args, help }) => (
          <li key={name}>
            <button
              type="button"
              onClick={() => {
                closeDialog();
                conversation.value?.suggest(`/${name} `);
              }}
            >
              <b>/{name}</b> <code>{args}</code>
              <span class="notes">
                {messageText({ code: 'help.about', params: { about: name } }) ?? help}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
