import type { JSX } from 'preact';
import type { Conversation } from '../conversation/conversation.ts';
import { switchBranch } from '../conversation/steps.ts';
import type { ForkPlace } from '../conversation/transcript-items.ts';
import { t } from '../i18n/strings.ts';

export interface BranchSwitcherProps {
  readonly conversation: Conversation;
  readonly fork: ForkPlace | undefined;
}

/** Which of several ways the conversation went on here, and the ways to the others. */
export function BranchSwitcher({ conversation, fork }: BranchSwitcherProps): JSX.Element | null {
  const isDeleted = conversation.history.view.value?.status === 'deleted';
  if (fork === undefined || conversation.isReadOnly || isDeleted) return null;
  const { ids, at } = fork;
  const to = (step: number): JSX.Element => (
    <button
      type="button"
      class="quiet small"
      // A step waits for the turn that runs: it would come when nobody expects it any more.
      disabled={ids[at + step] === undefined || conversation.isBusy}
      aria-label={t(step < 0 ? 'branchBefore' : 'branchNext')}
      title={t(step < 0 ? 'branchBefore' : 'branchNext')}
      onClick={() => void switchBranch(conversation, fork, step)}
    >
      {step < 0 ? '‹' : '›'}
    </button>
  );
  return (
    <span class="switcher" role="group" aria-label={t('branchOf', at + 1, ids.length)}>
      {to(-1)}
      <span aria-hidden="true">
        {at + 1}/{ids.length}
      </span>
      {to(1)}
    </span>
  );
}
