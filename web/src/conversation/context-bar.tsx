import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { shortCount } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { ContextPanel } from './context-panel.tsx';
import { contextParts } from './context-parts.ts';
import type { Conversation } from './conversation.ts';

/** How full the context is and with what, and a mark where compaction starts. */
export function ContextBar({ conversation }: { readonly conversation: Conversation }): JSX.Element | null {
  const isOpen = useSignal(false);
  const report = conversation.context.value;
  if (report === undefined) return null;
  const { parts, mark } = contextParts(report);
  const whole = report.window.tokens;
  const title = t('contextOf', shortCount(report.tokens), shortCount(whole));
  return (
    <details
      class="context"
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary title={title}>
        <span class="word">{t('context')}</span>
        <span class="bar" role="presentation">
          {parts.map(({ name, share }) => (
            <i key={name} class={`part ${name}`} style={{ width: `${share}%` }} />
          ))}
          <i class="budget" style={{ left: `${mark}%` }} />
        </span>
        <span class="offscreen">{title},</span>
        <span class="percent">{percent(report.tokens / whole)}</span>
      </summary>
      {isOpen.value && <ContextPanel />}
    </details>
  );
}

function percent(share: number): string {
  return `${share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100)}%`;
}
