import type { JSX } from 'preact';
import { fullTime } from '../../i18n/format.ts';
import { looked } from '../../sidebar/sessions.ts';
import { relativeTime } from './relative-time.ts';

/** A relative time, with the exact time as a tooltip. It updates with every refresh of the session list. */
export function When({ at }: { readonly at: string }): JSX.Element {
  void looked.value;
  return (
    <time dateTime={at} title={fullTime(at)}>
      {relativeTime(at)}
    </time>
  );
}
