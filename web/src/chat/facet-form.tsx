import type { JSX } from 'preact';
import { agents, type Facets, facets, isPartOfMember, NO_FACETS, showJobs } from '../stores/sessions.ts';
import { t } from '../strings.ts';
import { useChannelChoices } from './channel-choices.ts';

const KINDS = ['main', 'session', 'direct', 'group', 'channel', 'subagent', 'cron', 'hook'];

export function FacetForm(): JSX.Element {
  const chosen = facets.value;
  const change = (part: Partial<Facets>): void => {
    const next = { ...facets.value, ...part };
    facets.value = JSON.stringify(next) === JSON.stringify(NO_FACETS) ? NO_FACETS : next;
  };
  return (
    <div>
      <Choice
        label={t('agent')}
        value={chosen.agentId}
        options={agents.value.map(({ id }) => id)}
        onChange={(agentId) => change({ agentId })}
      />
      <Choice
        label={t('channel')}
        value={chosen.channel}
        options={useChannelChoices()}
        onChange={(channel) => change({ channel })}
      />
      <label>
        <span>{t('member')}</span>
        <input
          value={chosen.member}
          placeholder={t('all')}
          onChange={(event) => change({ member: event.currentTarget.value.trim() })}
        />
      </label>
      {isPartOfMember.value && <p class="hint">{t('memberPart')}</p>}
      <Choice label={t('kind')} value={chosen.kind} options={KINDS} onChange={(kind) => change({ kind })} />
      <label>
        <span>{t('status')}</span>
        <select
          value={chosen.status}
          onChange={(event) => change({ status: event.currentTarget.value as Facets['status'] })}
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

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly string[];
  readonly onChange: (value: string) => void;
}

function Choice({ label, value, options, onChange }: ChoiceProps): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">{t('all')}</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}
