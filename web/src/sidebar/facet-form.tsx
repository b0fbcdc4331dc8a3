import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import { ChannelChoice, Choice, changeFacets, MemberField } from './facet-fields.tsx';
import { agents, type Facets, facets, isPartOfMember, showJobs } from './sessions.ts';

const KINDS = ['main', 'session', 'direct', 'group', 'channel', 'subagent', 'cron', 'hook'];

export function FacetForm(): JSX.Element {
  const chosen = facets.value;
  return (
    <div>
      <Choice
        label={t('agent')}
        value={chosen.agentId}
        options={agents.value.map(({ id }) => id)}
        onChange={(agentId) => changeFacets({ agentId })}
      />
      <ChannelChoice />
      <MemberField />
      {isPartOfMember.value && <p class="hint">{t('memberPart')}</p>}
      <Choice
        label={t('kind')}
        value={chosen.kind}
        options={KINDS}
        onChange={(kind) => changeFacets({ kind })}
      />
      <label>
        <span>{t('status')}</span>
        <select
          value={chosen.status}
          onChange={(event) => changeFacets({ status: event.currentTarget.value as Facets['status'] })}
        >
          <option value="open">{t('open')}</option>
          <option value="deleted">{t('trash')}</option>
          <option value="any">{t('all')}</option>
        </select>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={showJobs.value}
          onChange={(event) => {
            showJobs.value = event.currentTarget.checked;
          }}
        />
        {t('children')}
      </label>
    </div>
  );
}
