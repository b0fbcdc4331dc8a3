import { counted } from '../messages/english-format.ts';

/** For people: a restored backup runs nothing by itself. */
export function heldText(count: number, command = 'reprise backup release'): string {
  return `${counted(count, 'queued message')} of the restored backup: held, so that nothing is answered twice.
To run them: ${command}
To drop them: ${command} --cancel`;
}
