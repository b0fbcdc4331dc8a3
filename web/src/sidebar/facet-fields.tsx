import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import { useChannelChoices } from './channel-choices.ts';
import { type Facets, facets, NO_FACETS } from './sessions.ts';

/** What is looked for in all places that list sessions. */
export function changeFacets(part: Partial<Facets>): void {
  const next = { ...facets.value, ...part };
  facets.value = JSON.stringify(next) === JSON.stringify(NO_FACETS) ? NO_FACETS : next;
}

export interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly string[];
  readonly onChange: (value: string) => void;
}

export function Choice({ label, value, options, onChange }: ChoiceProps): JSX.Element {
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

export function ChannelChoice(): JSX.Element {
  return (
    <Choice
      label={t('channel')}
      value={facets.value.channel}
      options={useChannelChoices()}
      onChange={(channel) => changeFacets({ channel })}
    />
  );
}

/** It acts when it is left or Enter is pressed: who spoke where is asked for channel by channel. */
export function MemberField(): JSX.Element {
  return (
    <label>
      <span>{t('member')}</span>
      <input
        value={facets.value.member}
        placeholder={t('all')}
        onChange={(event) => changeFacets({ member: event.currentTarget.value.trim() })}
      />
    </label>
  );
}
