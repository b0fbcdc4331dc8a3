import { signal } from '@preact/signals';
import type { CommandView } from 'reprise/client';
import { attempt, client } from '../api/api.ts';

export const commands = signal<readonly CommandView[]>([]);

export async function loadCommands(): Promise<void> {
  if (commands.value.length > 0) return;
  await attempt(async () => {
    commands.value = (await client.value.commands()).data;
  });
}

/** Those a half-typed first word can become; undefined: what is typed is no command (any more). */
export function matchingCommands(
  text: string,
  known: readonly CommandView[],
): readonly CommandView[] | undefined {
  const typed = /^\/([a-z-]*)$/i.exec(text)?.[1]?.toLowerCase();
  if (typed === undefined) return undefined;
  return known.filter(({ name, aliases }) => [name, ...aliases].some((word) => word.startsWith(typed)));
}

/** As the engine reads it on a page: a first word that could be a name. `//` and paths are messages. */
export function isCommand(text: string): boolean {
  return /^\/[a-z][a-z0-9_-]*(?:\s|$)/i.test(text);
}
