import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { CompactAnswer } from 'reprise/client';
import { attempt } from '../api/api.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { undoCompaction } from '../conversation/steps.ts';
import { shortCount } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { closeDialog } from '../shell/dialogs.ts';
import { say } from '../shell/toasts.ts';
import { Dialog } from '../ui/dialog.tsx';

/** What it would do, before it does it. */
export function CompactDialog({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const plan = useSignal<CompactAnswer['preview']>(undefined);
  const focus = useSignal('');
  const isBusy = useSignal(false);
  useEffect(() => {
    void attempt(async () => {
      plan.value = (await conversation.remote.compact({ dryRun: true })).preview ?? null;
    });
  }, [conversation]);
  const compact = async (): Promise<void> => {
    isBusy.value = true;
    const wanted = focus.value.trim();
    const done = await attempt(() => conversation.remote.compact(wanted === '' ? {} : { focus: wanted }));
    isBusy.value = false;
    if (done === undefined) return;
    closeDialog();
    const { compaction } = done;
    if (compaction == null) {
      say(t('compactNothing'));
      return;
    }
    await attempt(() => conversation.reload());
    say(t('compactDone', shortCount(compaction.tokensBefore), shortCount(compaction.tokensAfter)), {
      action: { label: t('undo'), run: () => void undoCompaction(conversation) },
    });
  };
  const preview = plan.value;
  return (
    <Dialog title={t('compact')}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void compact();
        }}
      >
        {preview === null && <p>{t('compactNothing')}</p>}
        {preview != null && (
          <>
            <p>
              {t(
                'compactPreview',
                preview.coveredEntries,
                shortCount(preview.coveredTokens),
                preview.keptEntries,
                shortCount(preview.keptTokens),
              )}
            </p>
            <label for="focus">{t('focus')}</label>
            <input
              id="focus"
              maxLength={2000}
              value={focus.value}
              onInput={(event) => {
                focus.value = event.currentTarget.value;
              }}
            />
            <button type="submit" class="primary" disabled={isBusy.value}>
              {t('compactNow')}
            </button>
          </>
        )}
      </form>
    </Dialog>
  );
}
