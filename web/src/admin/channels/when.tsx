import type { JSX } from 'preact';
import { fullTime } from '../../i18n/format.ts';
import { looked } from '../../sidebar/sessions.ts';
import { relativeTime } from './relative-time.ts';

/** How long ago it was; whoever points at it is told when. It goes on with every look at what is new. */
export function When({ at }: { readonly at: string }): JSX.Element {
  void looked.value;
  return (
    <time dateTime={at} title={fullTime(at)}>
      {relativeTime(at)}
    </time>
  );
}
