import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Conversation } from '../conversation/conversation.ts';
import { RecallReport } from '../conversation/recall-report.tsx';
import { undoCompaction } from '../conversation/steps.ts';
import type { CompactionFacts } from '../conversation/transcript-items.ts';
import { shortCount } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { Icon } from '../ui/icon.tsx';

export interface FoldProps {
  readonly conversation: Conversation;
  readonly compaction: CompactionFacts;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

/** A compaction: its summary, what the summary lost, the original messages, and undo. */
export function Fold({ conversation, compaction, isOpen, onToggle }: FoldProps): JSX.Element {
  const shown = useSignal<'none' | 'summary' | 'recall'>('none');
  const { coveredEntries, tokensBefore, tokensAfter, summary, recall, method } = compaction;
  const { rows, hasOlder } = conversation.history;
  const toggle = (part: 'summary' | 'recall'): void => {
    shown.value = shown.value === part ? 'none' : part;
  };
  return (
    <section class="fold" aria-label={t('summary')}>
      <div class="rule">
        <span class="what">
          <Icon name="fold" />
          <b>
            {t(
              'compactedLine',
              coveredEntries ||
                rows.value.filter((row) => row.compacted).length + (hasOlder.value ? '+' : ''),
            )}
          </b>
          {tokensBefore > 0 && (
            <span>
              {[tokensBefore, tokensAfter].filter(Boolean).map(shortCount).join(' → ')} {t('tokens')}
            </span>
          )}
          {method === 'digest' && <span class="badge">{t('madeWithoutModel')}</span>}
        </span>
        <span class="buttons">
          <button type="button" aria-expanded={shown.value === 'summary'} onClick={() => toggle('summary')}>
            {t('summary')}
          </button>
          {recall !== undefined && (
            <button type="button" aria-expanded={shown.value === 'recall'} onClick={() => toggle('recall')}>
              {t('lostFacts', recall.found, recall.total)}
            </button>
          )}
          <button type="button" aria-expanded={isOpen} onClick={onToggle}>
            {t('originals')}
          </button>
          <button type="button" onClick={() => void undoCompaction(conversation)}>
            <Icon name="undo" />
            {t('undo')}
          </button>
        </span>
      </div>
      {shown.value === 'summary' && (
        <div class="opened">
          <Markdown text={summary} />
        </div>
      )}
      {shown.value === 'recall' && recall !== undefined && (
        <div class="opened">
          <RecallReport {...recall} />
        </div>
      )}
    </section>
  );
}
