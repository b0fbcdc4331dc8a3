import type { JSX } from 'preact';
import type { Conversation } from '../conversation/conversation.ts';
import { switchBranch } from '../conversation/steps.ts';
import type { ForkPlace } from '../conversation/transcript-items.ts';
import { t } from '../i18n/strings.ts';

export interface BranchSwitcherProps {
  readonly conversation: Conversation;
  readonly fork: ForkPlace | undefined;
}

/** Shows which of several branches is open, with buttons to the others. */
export function BranchSwitcher({ conversation, fork }: BranchSwitcherProps): JSX.Element | null {
  const isDeleted = conversation.history.view.value?.status === 'deleted';
  if (fork === undefined || conversation.isReadOnly || isDeleted) return null;
  const { ids, at } = fork;
  const to = (step: number): JSX.Element => (
    <button
      type="button"
      class="quiet small"
      // During a turn a switch would have to wait until its end, and then surprise the user.
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
