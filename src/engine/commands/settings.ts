import type { Pin } from '../../compaction/pins.ts';
import { RepriseError } from '../../errors.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { messageName, messagePositions, parsePosition } from '../../transcript/message-position.ts';
import { earlierKey, type Keyed, pinsTold } from '../keyed-request.ts';
import type { Session } from '../session.ts';
import type { ModelInUse } from '../session-models.ts';
import { QUEUE_DROPS, QUEUE_MODES, type QueueSettings } from '../session-settings.ts';
import { type CommandHandler, keyOf, labelOf, oneLine, refuse } from './command-context.ts';
import { entryNamed, readEntries } from './read-entries.ts';

const PIN_CHARS = 100;

export const rename: CommandHandler = async (args, { session }) => {
  const label = labelOf(args);
  if (label === '') throw refuse('/rename wants a label', 'Write: /rename <label>');
  await session.patch({ label });
  return { text: `This session is "${label}" now.` };
};

/** `/model [name]`; `/model default` takes the choice back. */
export const model: CommandHandler = async (args, { session, modelByName }) => {
  if (args === '') return { text: `Model: ${modelText(await session.model())}.` };
  if (args.toLowerCase() === 'default') {
    // Sessions from other systems name a model by the other two.
    await session.patch({ model: null, modelOverride: null, providerOverride: null });
    return { text: `Model: ${modelText(await session.model())}.` };
  }
  if (modelByName === undefined)
    throw refuse('no other model can be chosen here', 'Whoever runs this program configures it.');
  const found = await modelByName(args);
  if (found === undefined)
    throw new RepriseError('MODEL_UNKNOWN', `no model "${args}"`, {
      details: { ref: args, next: 'Nothing was changed.' },
    });
  await session.patch({ model: args });
  return { text: `Model: ${modelText({ model: found, name: args, from: 'session' })}.` };
};

const CHOSEN_BY: Readonly<Record<ModelInUse['from'], string>> = {
  run: 'chosen for this run with --model',
  session: 'chosen for this session',
  agent: 'of this agent',
  all: 'by the configuration',
};

export function modelText({ name, from, fallbackFrom }: ModelInUse): string {
  const { model: missing, reason } = fallbackFrom ?? {};
  const instead = missing === undefined ? '' : ` (instead of ${missing}: ${reason})`;
  return `${name}, ${CHOSEN_BY[from]}${instead}`;
}

const MODES: readonly string[] = QUEUE_MODES;
const DROPS: readonly string[] = QUEUE_DROPS;
const MAX_DEBOUNCE_MS = 600_000;
const MAX_CAP = 10_000;

/** `/queue`, `/queue collect debounce:2s cap:25 drop:summarize`, `/queue default` */
export const queue: CommandHandler = async (args, { session }) => {
  if (args === '') return { text: `Queue: ${queueText(await session.queue())}.` };
  let patch: JsonObject = {};
  // All of it is understood before any of it is set.
  for (const word of args.toLowerCase().split(/\s+/)) patch = { ...patch, ...queueSetting(word) };
  await session.patch(patch);
  return { text: `Queue: ${queueText(await session.queue())}.` };
};

function queueSetting(word: string): JsonObject {
  if (word === 'default') return { queueMode: null, queueDebounceMs: null, queueCap: null, queueDrop: null };
  if (MODES.includes(word)) return { queueMode: word };
  const [name, value = ''] = word.split(':', 2);
  const [, amount, unit = 'ms'] = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s|m)?$/.exec(value) ?? [];
  if (name === 'debounce' && amount !== undefined) {
    const queueDebounceMs = Math.round(Number(amount) * ({ ms: 1, s: 1000, m: 60_000 }[unit] ?? 1));
    if (queueDebounceMs <= MAX_DEBOUNCE_MS) return { queueDebounceMs };
  }
  if (name === 'cap' && /^[1-9]\d{0,4}$/.test(value) && Number(value) <= MAX_CAP)
    return { queueCap: Number(value) };
  if (name === 'drop' && DROPS.includes(value)) return { queueDrop: value };
  throw refuse(
    `/queue does not understand "${word}"; nothing was changed`,
    `Modes: ${MODES.join(', ')}. Also debounce:2s, cap:25, drop:${DROPS.join('|')}, default.`,
  );
}

export function queueText({ mode, debounceMs, cap, drop }: QueueSettings): string {
  return `${mode} debounce:${debounceMs / 1000}s cap:${cap} drop:${drop}`;
}

export const pin: CommandHandler = async (args, { session, request }) => {
  if (args === '') return { text: await pinsText(session, await session.pins()) };
  const keyed = keyOf({ request });
  // What "last" means, and what is pinned, may have changed since the first try.
  const told = await toldBefore(session, 'pin', keyed);
  const pins = told ?? (await session.pin(await entryNamed(session, args), keyed));
  return { text: await pinsText(session, pins) };
};

export const unpin: CommandHandler = async (args, { session, request }) => {
  const pins = await session.pins();
  if (args === '')
    throw refuse('/unpin wants a message', `Write: /unpin #3\n${await pinsText(session, pins)}`);
  const keyed = keyOf({ request });
  const told = await toldBefore(session, 'unpin', keyed);
  if (told !== undefined) return { text: await pinsText(session, told) };
  const isAll = args.toLowerCase() === 'all';
  const wanted = parsePosition(args) === undefined ? args : await entryNamed(session, args);
  const gone = pins.filter(({ entryId }) => isAll || entryId.startsWith(wanted));
  if (gone.length === 0 && isAll) return { text: await pinsText(session, pins) };
  if (gone.length === 0) throw refuse(`"${args}" is not pinned`, await pinsText(session, pins));
  if (gone.length > 1 && !isAll)
    throw refuse(`"${args}" fits ${gone.length} pins`, await pinsText(session, gone));
  const ids = gone.map(({ entryId }) => entryId);
  return { text: await pinsText(session, await session.unpin(ids, keyed)) };
};

async function toldBefore(
  session: Session,
  asked: 'pin' | 'unpin',
  keyed: Keyed,
): Promise<readonly Pin[] | undefined> {
  return earlierKey(keyed) === undefined ? undefined : pinsTold(await readEntries(session), asked, keyed);
}

async function pinsText(session: Session, pins: readonly Pin[]): Promise<string> {
  if (pins.length === 0) return 'Nothing is pinned. /history shows the positions /pin takes, such as #3.';
  const positions = messagePositions(await readEntries(session));
  const lines = pins.map(
    ({ entryId, text }) => `${messageName(positions, entryId)} ${oneLine(text, PIN_CHARS)}`,
  );
  return ['Pinned:', ...lines].join('\n');
}
