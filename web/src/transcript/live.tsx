import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Conversation } from '../conversation/conversation.ts';
import type { LiveNote, LivePart } from '../conversation/live-turn.ts';
import { modelName, shortCount } from '../i18n/format.ts';
import { answerText, causeText, errorText, t } from '../i18n/strings.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { Thinking } from './thinking.tsx';
import { ToolRow } from './tool-row.tsx';

/** The answer while it comes. */
export function Live({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const turn = conversation.live.value;
  const parts = turn?.parts ?? [];
  const isQuiet = parts.at(-1)?.type !== 'text';
  const model = turn?.model ?? '';
  return (
    <article class="message answer live" aria-busy="true">
      <header>
        <b>{model === '' ? t('answer') : modelName(model)}</b>
        {turn?.usage !== undefined && <span class="facts">{shortCount(turn.usage.inputTokens)}</span>}
      </header>
      {parts.map((part, i) => (
        <Part key={i} part={part} isLast={i === parts.length - 1} />
      ))}
      {turn?.error !== undefined && <p class="ended wrong">{errorText(turn.error)}</p>}
      {isQuiet && turn?.error === undefined && (
        <p class="working" role="presentation">
          <i />
          <i />
          <i />
        </p>
      )}
    </article>
  );
}

function Part({ part, isLast }: { readonly part: LivePart; readonly isLast: boolean }): JSX.Element {
  switch (part.type) {
    case 'text':
      return <Markdown text={part.text} />;
    case 'thinking':
      return <Thinking text={part.text} isOpen={isLast} />;
    case 'call':
      return <ToolRow name={part.name} input={part.input} result={part.result} />;
    case 'note':
      return part.note.kind === 'retry' ? (
        <Retry note={part.note} />
      ) : (
        <p class="note pre">{noteText(part.note)}</p>
      );
  }
}

/** Counts down to the next attempt. */
function Retry({ note }: { readonly note: Extract<LiveNote, { kind: 'retry' }> }): JSX.Element {
  const left = useSignal(Math.ceil(note.delayMs / 1000));
  useEffect(() => {
    const until = performance.now() + note.delayMs;
    const timer = setInterval(() => {
      left.value = Math.max(0, Math.ceil((until - performance.now()) / 1000));
    }, 250);
    return () => clearInterval(timer);
  }, [note]);
  return <p class="note pre">{t('retrying', left.value, note.attempt, causeText(note.reason, note.why))}</p>;
}

function noteText(note: LiveNote): string {
  switch (note.kind) {
    case 'compacting':
      return t('compacting', shortCount(note.tokensBefore));
    case 'compacted':
      return note.error === undefined
        ? t('compactDone', shortCount(note.tokensBefore), shortCount(note.tokensAfter))
        : causeText(note.error, note.why);
    case 'guard':
      return note.step === 'truncate'
        ? t('shortened', note.results ?? 0)
        : causeText(note.reason ?? note.step, note.why);
    case 'retry':
      return causeText(note.reason, note.why);
    case 'command':
      return answerText(note.answer);
  }
}
