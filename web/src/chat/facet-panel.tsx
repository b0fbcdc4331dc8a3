import type { JSX } from 'preact';
import { agents, channelNames, type Facets, facets, NO_FACETS, showJobs } from '../stores/sessions.ts';
import { t } from '../strings.ts';
import { Icon } from '../ui/icon.tsx';

const KINDS = ['main', 'session', 'direct', 'group', 'channel', 'subagent', 'cron', 'hook'];

export function FacetPanel(): JSX.Element {
  const chosen = facets.value;
  const change = (part: Partial<Facets>): void => {
    const next = { ...facets.value, ...part };
    facets.value = JSON.stringify(next) === JSON.stringify(NO_FACETS) ? NO_FACETS : next;
  };
  const isSet = chosen !== NO_FACETS || showJobs.value;
  return (
    <details class="facets">
      <summary aria-label={t('facets')} title={t('facets')} class={isSet ? 'set' : undefined}>
        <Icon name="filter" />
      </summary>
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
          options={channelNames.value}
          onChange={(channel) => change({ channel })}
        />
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
    </details>
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
