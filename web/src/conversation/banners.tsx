import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import { go } from '../shell/route.ts';
import { conversation } from './open-conversations.ts';
import { restoreSession, runCommand } from './steps.ts';

/** What is not as usual about the session that is shown, and what can be done about it. */
export function Banners(): JSX.Element | null {
  const current = conversation.value;
  const view = current?.history.view.value;
  if (current === undefined || view === undefined) return null;
  const { status, corruptAt, parentId, agentId } = view;
  return (
    <>
      {status === 'deleted' && (
        <p class="banner">
          {t('inTrash')}
          <button type="button" onClick={() => void restoreSession(current)}>
            {t('restore')}
          </button>
        </p>
      )}
      {corruptAt !== undefined && (
        <p class="banner wrong">
          {t('damagedSession')}
          <button type="button" onClick={() => void runCommand(current, '/repair')}>
            {t('repair')}
          </button>
        </p>
      )}
      {parentId !== undefined && status !== 'deleted' && (
        <p class="banner quiet">
          {t('fromSession')}
          <button
            type="button"
            class="link"
            onClick={() => go({ view: 'session', agentId, sessionId: parentId })}
          >
            {t('openParent')}
          </button>
        </p>
      )}
    </>
  );
}
