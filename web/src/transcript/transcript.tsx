import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { attempt } from '../api/api.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { wantedEntry } from '../conversation/open-conversations.ts';
import type { Pending } from '../conversation/pending.ts';
import { type ForkPlace, type Item, rowOf, transcriptItems } from '../conversation/transcript-items.ts';
import { t } from '../i18n/strings.ts';
import { Icon } from '../ui/icon.tsx';
import { memo } from '../ui/memo.ts';
import { VirtualList } from '../ui/virtual-list.tsx';
import { Answer } from './answer.tsx';
import { Fold } from './fold.tsx';
import { Live } from './live.tsx';
import { MarkLine } from './mark-line.tsx';
import { Message } from './message.tsx';
import { PendingMessage } from './pending-message.tsx';

type Line =
  | Item
  | { readonly type: 'pending'; readonly key: string; readonly pending: Pending }
  | { readonly type: 'live'; readonly key: string };

/** Memoized, so that scrolling does not render messages again; changes of signals still do. */
const StillMessage = memo(
  Message,
  (a, b) => a.row === b.row && a.conversation === b.conversation && isSameFork(a.fork, b.fork),
);
const StillAnswer = memo(Answer, (a, b) => a.item === b.item && a.conversation === b.conversation);

function isSameFork(a: ForkPlace | undefined, b: ForkPlace | undefined): boolean {
  return a?.at === b?.at && a?.ids.join() === b?.ids.join();
}

/** The messages, from the oldest loaded one to the answer that is streaming. */
export function Transcript({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const { history } = conversation;
  const isFoldOpen = useSignal(false);
  const isAtEnd = useSignal(true);
  const handle = useRef<{ toEnd(): void }>(null);
  useSignalEffect(() => {
    if (conversation.ends.value > 0) requestAnimationFrame(() => handle.current?.toEnd());
  });
  const stored = useComputed(() => transcriptItems(history.rows.value));
  const lines = useComputed<readonly Line[]>(() => {
    const wanted = wantedEntry.value;
    const items = stored.value.flatMap((item): readonly Item[] => {
      if (item.type !== 'fold') return [item];
      const isWanted = wanted !== undefined && item.hidden.some((hidden) => isEntry(hidden, wanted));
      if (isWanted) isFoldOpen.value = true;
      return isFoldOpen.value || isWanted ? [item, ...item.hidden] : [item];
    });
    return [...items, ...onTheWay(conversation)];
  });
  const wanted = wantedEntry.value;
  const wantedKey = wanted === undefined ? undefined : lines.value.find((line) => isEntry(line, wanted))?.key;
  const isFoldFirst = lines.value[0]?.type === 'fold' && !isFoldOpen.value;

  const draw = (line: Line): JSX.Element => {
    switch (line.type) {
      case 'message':
        return <StillMessage conversation={conversation} row={line.row} fork={line.fork} />;
      case 'answer':
        return <StillAnswer conversation={conversation} item={line} />;
      case 'fold':
        return (
          <Fold
            conversation={conversation}
            compaction={line.compaction}
            isOpen={isFoldOpen.value}
            onToggle={() => {
              isFoldOpen.value = !isFoldOpen.value;
            }}
          />
        );
      case 'mark':
        return <MarkLine conversation={conversation} mark={line.mark} />;
      case 'pending':
        return <PendingMessage conversation={conversation} pending={line.pending} />;
      case 'live':
        return <Live conversation={conversation} />;
    }
  };
  return (
    <div class="transcript">
      {(history.hasOlder.value || history.hasNewer.value) && <p class="only-print">{t('printPart')}</p>}
      <VirtualList
        items={lines.value}
        keyOf={({ key }) => key}
        guess={guessHeight}
        resetKey={conversation.id}
        sticksToEnd
        role="log"
        label={t('chat')}
        class="messages"
        handle={handle}
        wanted={wantedKey}
        onWantedShown={() => {
          const key = wantedKey;
          queueMicrotask(() => {
            wantedEntry.value = undefined;
          });
          if (key !== undefined) flash(key);
        }}
        onAtEnd={(is) => {
          isAtEnd.value = is && !history.hasNewer.value;
        }}
        onNearStart={() => {
          if (!isFoldFirst && history.hasOlder.value) void attempt(() => history.loadOlder());
        }}
        onNearEnd={() => {
          if (history.hasNewer.value) void attempt(() => history.loadNewer());
        }}
        render={draw}
      />
      {(!isAtEnd.value || history.hasNewer.value) && (
        <button
          type="button"
          class="to-latest"
          onClick={() => {
            if (history.hasNewer.value)
              void attempt(() => history.loadLatest()).then(() => handle.current?.toEnd());
            else handle.current?.toEnd();
          }}
        >
          <Icon name="down" />
          {t('latest')}
        </button>
      )}
    </div>
  );
}

/** Rows that the history does not contain yet: the running message, its answer, and the queued messages. */
function onTheWay({ pending, live }: Conversation): Line[] {
  // The text of a message repeated by a command is unknown here until it is stored.
  const line = (one: Pending): Line[] =>
    one.text || one.images[0] || one.error
      ? [{ type: 'pending', key: `pending-${one.key}`, pending: one }]
      : [];
  const said = pending.value.filter(({ state }) => state === 'running');
  const later = pending.value.filter(({ state }) => state !== 'running');
  const isAnswering = live.value !== undefined || said.length > 0;
  return [
    ...said.flatMap(line),
    ...(isAnswering ? [{ type: 'live', key: 'live' } as const] : []),
    ...later.flatMap(line),
  ];
}

function isEntry(line: Line, wanted: string): boolean {
  if (line.type === 'pending' || line.type === 'live') return false;
  if (line.type === 'fold' && line.compaction.id === wanted) return true;
  const row = rowOf(line);
  if (line.key === wanted || String(line.seq) === wanted) return true;
  const tools = line.type === 'answer' ? line.tools : [];
  const results = tools.map(({ result }) => result);
  return [row, ...results].some(
    (one) => one !== undefined && (one.id === wanted || String(one.seq) === wanted),
  );
}

function guessHeight(line: Line): number {
  if (line.type === 'message' || line.type === 'answer') {
    const tools = line.type === 'answer' ? line.tools.length : 0;
    const lines = Math.ceil(line.row.text.length / 90);
    // Long user messages are collapsed.
    return 64 + tools * 36 + (line.type === 'message' ? Math.min(lines, 12) : lines) * 24;
  }
  return 48;
}

function flash(key: string): void {
  requestAnimationFrame(() => {
    const row = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    row?.classList.add('flash');
    setTimeout(() => row?.classList.remove('flash'), 2000);
  });
}
