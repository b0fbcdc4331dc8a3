import type { JSX } from 'preact';
import type { Conversation } from '../conversation/conversation.ts';
import { sayLastAgain } from '../conversation/steps.ts';
import { type AnswerItem, costOf } from '../conversation/transcript-items.ts';
import { cost, fullTime, modelName, shortCount, shortTime } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Menu } from '../ui/menu.tsx';
import { BranchSwitcher } from './branch-switcher.tsx';
import { answerEntries } from './menu-entries.ts';
import { Pinned, Position } from './message.tsx';
import { Thinking } from './thinking.tsx';
import { ToolRow } from './tool-row.tsx';

export interface AnswerProps {
  readonly conversation: Conversation;
  readonly item: AnswerItem;
}

/** One model call: its thinking, text and tool calls. */
export function Answer({ conversation, item }: AnswerProps): JSX.Element {
  const { row, tools, turn } = item;
  const { thinking, text } = readContent(row.content, row.text);
  const spent = costOf(row.usage);
  const isLast = conversation.history.rows.value.findLast(({ role }) => role === 'assistant')?.id === row.id;
  const canRegenerate = isLast && turn !== undefined && conversation.canSayAgain;
  const facts = [
    row.usage === undefined
      ? ''
      : t('inOut', shortCount(row.usage.inputTokens), shortCount(row.usage.outputTokens)),
    spent === undefined ? '' : cost(spent),
  ].filter((fact) => fact !== '');
  return (
    <article
      class={['message answer', row.compacted === true && 'compacted', item.isContinued && 'continued']
        .filter(Boolean)
        .join(' ')}
    >
      <header>
        {item.isContinued !== true && <b>{row.model === undefined ? t('answer') : modelName(row.model)}</b>}
        <Position row={row} />
        {conversation.pins.value.has(row.id) && <Pinned />}
        {item.isContinued !== true && (
          <time dateTime={row.timestamp} title={fullTime(row.timestamp)}>
            {shortTime(row.timestamp)}
          </time>
        )}
        {facts.length > 0 && (
          <span class="facts" title={row.model}>
            {facts.join(' · ')}
          </span>
        )}
      </header>
      {thinking !== '' && <Thinking text={thinking} />}
      {text !== '' && <Markdown text={text} />}
      {tools.map((tool) => (
        <ToolRow
          key={tool.id}
          name={tool.name}
          input={tool.input}
          isShortened={tool.isShortened}
          isDead={turn !== undefined && tool.result === undefined}
          result={
            tool.result && {
              text: tool.result.text,
              isError: tool.result.isError === true,
              durationMs: tool.result.durationMs,
            }
          }
        />
      ))}
      {/* Where the end of its turn is stored, the line of that says it. */}
      {turn === undefined && row.stopReason === 'aborted' && <p class="ended">{t('aborted')}</p>}
      {turn === undefined && row.stopReason === 'error' && (
        <p class="ended wrong">{t('turnFailed', row.error ?? '')}</p>
      )}
      <footer class="under">
        <BranchSwitcher conversation={conversation} fork={item.fork} />
        <span class="actions">
          {text !== '' && <CopyButton text={text} />}
          {canRegenerate && (
            <button
              type="button"
              class="quiet small"
              aria-label={t('retry')}
              title={t('retry')}
              onClick={() => void sayLastAgain(conversation)}
            >
              <Icon name="retry" />
            </button>
          )}
          <Menu label={t('actions')} entries={() => answerEntries(conversation, item)} />
        </span>
      </footer>
    </article>
  );
}

/** Separates thinking from text; other blocks have their own rows. */
function readContent(content: unknown, text: string): { readonly thinking: string; readonly text: string } {
  if (!Array.isArray(content)) return { thinking: '', text };
  const blocks = content.filter(
    (block): block is Readonly<Record<string, unknown>> => typeof block === 'object' && block !== null,
  );
  const all = (type: string, field: string): string =>
    blocks
      .flatMap((block) => (block['type'] === type && typeof block[field] === 'string' ? [block[field]] : []))
      .join('\n\n');
  return { thinking: all('thinking', 'thinking'), text: all('text', 'text') };
}
