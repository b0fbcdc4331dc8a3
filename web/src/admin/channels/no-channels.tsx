import type { JSX } from 'preact';
import { t } from '../../i18n/strings.ts';
import { CodeBlock } from '../../markdown/code-block.tsx';
import { channelCursor, channelFilter, clearChannelFilter } from './channels.ts';

/** What a channel's adapter does, as one command that can be tried. */
const hearCommand = (): string => `curl ${new URL('api/inbound', location.href).href} \\
  -H "Authorization: Bearer $TOKEN" -H 'content-type: application/json' \\
  -d '{"channel":"telegram","peer":"42","peerKind":"direct","sender":{"id":"42","name":"Ana"},"text":"hello"}'`;

/** Nothing fits, nothing was found so far, or nothing is there yet: each leads on. */
export function NoChannels(): JSX.Element {
  const { agentId, channelType, member, q } = channelFilter.value;
  if (agentId + channelType + member + q === '')
    return (
      <div class="empty">
        <p>{t('nothingHere')}</p>
        <CodeBlock code={hearCommand()} lang="" />
      </div>
    );
  return (
    <div class="empty">
      <p>{t(channelCursor.value === null ? 'noMatch' : 'moreHits')}</p>
      <div class="ways">
        <button type="button" onClick={clearChannelFilter}>
          {t('clear')}
        </button>
      </div>
    </div>
  );
}
