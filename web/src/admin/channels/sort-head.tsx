import type { JSX } from 'preact';
import { t } from '../../i18n/strings.ts';

export interface SortHeadProps {
  readonly name: string;
  readonly label: string;
  readonly sort: string;
  readonly onSort: (name: string) => void;
}

/** A column head that sorts by the largest or newest first; there is no use for the reverse order. */
export function SortHead({ name, label, sort, onSort }: SortHeadProps): JSX.Element {
  const isSorted = sort === name;
  return (
    <th class="number" aria-sort={isSorted ? 'descending' : undefined}>
      <button type="button" class="quiet small" title={t('sortBy', label)} onClick={() => onSort(name)}>
        {label}
        {isSorted && ' ↓'}
      </button>
    </th>
  );
}
