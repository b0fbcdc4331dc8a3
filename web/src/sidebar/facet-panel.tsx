import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import { Icon } from '../ui/icon.tsx';
import { FacetForm } from './facet-form.tsx';
import { facets, NO_FACETS, showJobs } from './sessions.ts';

export function FacetPanel(): JSX.Element {
  const isOpen = useSignal(false);
  const isSet = facets.value !== NO_FACETS || showJobs.value;
  return (
    <details
      class="facets"
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary aria-label={t('facets')} title={t('facets')} class={isSet ? 'set' : undefined}>
        <Icon name="filter" />
      </summary>
      {isOpen.value && <FacetForm />}
    </details>
  );
}
