import type { Pin } from '../../compaction/pins.ts';
import { failure } from '../../messages/failure.ts';
import { type Message, message } from '../../messages/message.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { messageName, messagePositions, parsePosition } from '../../transcript/message-position.ts';
import type { ModelInUse } from '../agents/session-models.ts';
import { earlierKey, type Keyed, pinsTold } from '../intake/keyed-request.ts';
import type { Session } from '../session.ts';
import { QUEUE_DROPS, QUEUE_MODES } from '../session-settings.ts';
import { type CommandContext, type CommandHandler, keyOf, labelOf, oneLine } from './command-context.ts';
import { entryNamed, readEntries } from './read-entries.ts';

const PIN_CHARS = 100;

export const rename: CommandHandler = async (args, { session }) => {
  const label = labelOf(args);
  if (label === '')
    throw failure('INVALID_INPUT', 'command.needsArgument', { name: 'rename', usage: '/rename <label>' });
  await session.patch({ label });
  return { messages: [message('session.renamed', { label })] };
};

/** `/model [name]`; `/model default` removes the choice. */
export const model: CommandHandler = async (given, context) => {
  const { session, modelByName, fullModelName } = context;
  if (given === '') {
    const { messages, listedModels } = await offers(context);
    return { messages: [...modelMessages(await session.model()), ...messages], listedModels };
  }
  const wanted = context.listedModels?.[Number(given) - 1] ?? given;
  const args = wanted.toLowerCase() === 'default' ? wanted : ((await fullModelName?.(wanted)) ?? wanted);
  if (args.toLowerCase() === 'default') {
    // Sessions from other tools store the model in the other two settings.
    await session.patch({ model: null, modelOverride: null, providerOverride: null });
    return { messages: modelMessages(await session.model()) };
  }
  if (modelByName === undefined) throw failure('INVALID_INPUT', 'model.noChoice');
  const found = await modelByName(args);
  if (found === undefined)
    throw failure('MODEL_UNKNOWN', 'model.unknown', { model: args }, { details: { ref: args } });
  await session.patch({ model: args });
  return { messages: modelMessages({ model: found, name: args, from: 'session' }) };
};

interface Offers {
  readonly messages: readonly Message[];
  readonly listedModels: readonly string[];
}

/** Other models, for a user who wants to choose one. */
async function offers({ session, listModels }: CommandContext): Promise<Offers> {
  if (listModels === undefined) return { messages: [], listedModels: [] };
  const { name, model: inUse } = await session.model();
  const isOffline = inUse.provider === 'offline';
  const all = await listModels();
  const rows = all.map((offer, i) =>
    message('model.offer', {
      ...offer,
      number: i + 1,
      isCurrent: offer.name === name || (isOffline && offer.name === 'offline'),
    }),
  );
  const messages = [...(isOffline ? [message('model.demo')] : []), ...rows, message('model.choose')];
  return { messages, listedModels: all.map((offer) => offer.name) };
}

/** The model in use, and why it is not the one that the session names. */
export function modelMessages({ name, from, fallbackFrom }: ModelInUse): Message[] {
  const current = message('model.current', { name, from, unavailable: fallbackFrom?.model ?? null });
  return fallbackFrom === undefined ? [current] : [current, fallbackFrom.why];
}

const MODES: readonly string[] = QUEUE_MODES;
const DROPS: readonly string[] = QUEUE_DROPS;
const MAX_DEBOUNCE_MS = 600_000;
const MAX_CAP = 10_000;

/** `/queue`, `/queue collect debounce:2s cap:25 drop:summarize`, `/queue default` */
export const queue: CommandHandler = async (args, { session }) => {
  if (args === '') return { messages: [message('queue.current', await session.queue())] };
  let patch: JsonObject = {};
  // Parse all words before anything is changed.
  for (const word of args.toLowerCase().split(/\s+/)) patch = { ...patch, ...queueSetting(word) };
  await session.patch(patch);
  return { messages: [message('queue.current', await session.queue())] };
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
  throw failure('INVALID_INPUT', 'queue.badWord', { word, modes: MODES, drops: DROPS });
}

export const pin: CommandHandler = async (args, { session, request }) => {
  if (args === '') return { messages: await pinMessages(session, await session.pins()) };
  const keyed = keyOf({ request });
  // The meaning of "last" and the pins may have changed since the first attempt.
  const before = await pinsBefore(session, 'pin', keyed);
  const pins = before ?? (await session.pin(await entryNamed(session, args), keyed));
  return { messages: await pinMessages(session, pins) };
};

export const unpin: CommandHandler = async (args, { session, request }) => {
  if (args === '')
    throw failure('INVALID_INPUT', 'command.needsArgument', {
      name: 'unpin',
      usage: '/unpin <#position | all>',
    });
  const keyed = keyOf({ request });
  const before = await pinsBefore(session, 'unpin', keyed);
  if (before !== undefined) return { messages: await pinMessages(session, before) };
  const pins = await session.pins();
  const isAll = args.toLowerCase() === 'all';
  const wanted = parsePosition(args) === undefined ? args : await entryNamed(session, args);
  const gone = pins.filter(({ entryId }) => isAll || entryId.startsWith(wanted));
  if (gone.length === 0 && isAll) return { messages: await pinMessages(session, pins) };
  if (gone.length === 0) throw failure('INVALID_INPUT', 'pins.notPinned', { name: args });
  if (gone.length > 1 && !isAll)
    throw failure('INVALID_INPUT', 'pins.ambiguous', { name: args, pins: gone.length });
  const ids = gone.map(({ entryId }) => entryId);
  return { messages: await pinMessages(session, await session.unpin(ids, keyed)) };
};

/** @returns the pins after the first attempt of this request; `undefined` for a new request. */
async function pinsBefore(
  session: Session,
  asked: 'pin' | 'unpin',
  keyed: Keyed,
): Promise<readonly Pin[] | undefined> {
  return earlierKey(keyed) === undefined ? undefined : pinsTold(await readEntries(session), asked, keyed);
}

async function pinMessages(session: Session, pins: readonly Pin[]): Promise<Message[]> {
  if (pins.length === 0) return [message('pins.none')];
  const positions = messagePositions(await readEntries(session));
  const lines = pins.map(({ entryId, text }) =>
    message('text', { text: `${messageName(positions, entryId)} ${oneLine(text, PIN_CHARS)}` }),
  );
  return [message('pins.list'), ...lines];
}
