import { isOwnChannel } from '../../keys/resolve.ts';
import { agentOfKey } from '../../keys/session-key.ts';
import { messagesText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { type Message, message } from '../../messages/message.ts';
import { quotedValue } from '../../messages/quoted.ts';
import type { Inbound, InboxReceipt, Reset } from '../../store/port/inbox.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { inboundLine, replyLine } from '../admin/channel-log.ts';
import { isRetired } from '../admin/maintenance.ts';
import { NO_USAGE } from '../admin/totals.ts';
import type { Agents } from '../agents/agents.ts';
import type { Profile } from '../agents/profiles.ts';
import type { Workspaces } from '../agents/workspaces.ts';
import { type Command, parseCommand, senderRefusal, type UnknownCommand } from '../commands/commands.ts';
import type { EngineContext } from '../engine-context.ts';
import { queueFor, type SessionOptions } from '../session-options.ts';
import { FORGOTTEN_ON_RESET, groupActivationOf } from '../session-settings.ts';
import { errorEvent, storedError } from '../turn/turn-outcome.ts';
import { checkInboundMessage, inboundKey } from './check-inbound.ts';
import { parseResetTrigger, resetReason } from './freshness.ts';
import { bodyOf, type InboundMessage, isShared, originOf, withTicket } from './inbound.ts';
import { type Keyed, requestKey } from './keyed-request.ts';
import { lastSpokenAt } from './last-spoken.ts';
import { OWN_OUTPUTS, type OwnOutput, ownOutput } from './own-output.ts';
import { type Route, routeMessage } from './route.ts';
import { sendAllowed } from './send-policy.ts';
import { withNewId } from './session-ids.ts';

/** A command that was answered at once: `messages`, and their English text. */
export interface AnsweredCommand {
  readonly name: string;
  readonly text: string;
  readonly messages: readonly Message[];
}

/** The receipt: the message is durable, or it was a command and this is its answer. */
export interface Received {
  readonly inboxId: string;
  readonly sessionId: string;
  readonly sessionKey: string;
  /** False if this message was accepted before. */
  readonly fresh: boolean;
  readonly command?: AnsweredCommand;
  /** Why the message will not run, if it will not. */
  readonly ignored?: string;
}

export interface ReceiveOptions {
  /** Without debounce: a person at the keyboard does not send one thought in several messages. */
  readonly atOnce?: boolean;
}

export interface ReceiverOptions {
  readonly context: EngineContext;
  readonly agents: Agents;
  readonly workspaces: Workspaces;
  readonly session: SessionOptions;
  /** Runs the session, if this process runs sessions. */
  readonly wake: (sessionId: string) => void;
  readonly runCommand: (
    command: Command | UnknownCommand,
    sessionId: string,
  ) => Promise<Omit<AnsweredCommand, 'text'>>;
  /** The form of ids of an agent's new sessions. */
  readonly idForm: (agentId: string) => Profile['sessionId'];
}

type Draft = Omit<Inbound, 'body'>;

/** Turns a message of a channel into a durable inbox row: routing, checks, commands, acceptance. */
export class Receiver {
  readonly #options: ReceiverOptions;

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  async receive(message: InboundMessage, { atOnce = false }: ReceiveOptions = {}): Promise<Received> {
    const { context, agents, session } = this.#options;
    const { store, options } = context;
    context.assertOpen();
    checkInboundMessage(message);
    const route = await routeMessage({ store, agents, session }, message);
    const now = options.clock.now();
    const draft = this.#draft(message, route, now);
    const { sessionKey, source, idempotencyKey } = draft;
    // Runs while the store looks up the key; both only read.
    const echo = ownOutput(store, route.agentId, message);
    echo.catch(() => undefined); // awaited below, unless the message is known already
    // A second delivery gets the first answer, before any rule that may have changed since is applied.
    if (idempotencyKey !== undefined && (await store.inbox.known({ sessionKey, source, idempotencyKey })))
      return this.#told(await store.inbox.receive({ ...draft, body: bodyOf(message) }));
    this.#assertAllowed(message, route);
    const own = await echo;
    if (own !== undefined) return this.#ignore({ ...draft, body: bodyOf(message) }, own);
    if (message.system === true) return this.#accept(message, route, draft, { now, atOnce: true });
    const trigger = parseResetTrigger(message.text, route.options.resetTriggers);
    if (trigger !== undefined) {
      const reset = resetBy(ASKED);
      if (trigger.rest === '' && (message.images ?? []).length === 0)
        return this.#command({ name: 'new', args: '' }, message, route, { ...draft, reset });
      return this.#accept({ ...message, text: trigger.rest }, route, { ...draft, reset }, { now, atOnce });
    }
    const parsed = parseCommand(message.text, { surface: 'channel' });
    if (parsed !== undefined && !('message' in parsed)) return this.#command(parsed, message, route, draft);
    const said = parsed === undefined ? message : { ...message, text: parsed.message };
    const reset = await this.#expired(message, route, now);
    return this.#accept(said, route, { ...draft, ...(reset !== undefined && { reset }) }, { now, atOnce });
  }

  /** Resets like a message with `/new` does, for surfaces with a button for it. */
  async renew(
    sessionKey: string,
    { label, idempotencyKey }: Keyed & { readonly label?: string | undefined } = {},
  ): Promise<SessionRecord> {
    const { context, workspaces } = this.#options;
    const { inbox } = context.store;
    const agentId = agentOfKey(sessionKey);
    const systemPrompt = await workspaces.systemPromptFor(agentId);
    const settings = { ...(systemPrompt !== '' && { systemPrompt }), ...(label !== undefined && { label }) };
    const body = { command: 'new' };
    const keyed = idempotencyKey === undefined ? {} : { idempotencyKey: requestKey(idempotencyKey) };
    const from = { sessionKey, source: 'owner', ...keyed };
    const inbound = { ...from, body, class: 'command', create: { settings } } as const;
    const route = { sessionKey, agentId, options: {} };
    const { inboxId, sessionId } = await this.#put(route, { ...inbound, reset: resetBy(ASKED) });
    await inbox.settle(inboxId, 'done', { command: 'new', text: '' });
    return context.store.get(sessionId);
  }

  #draft(message: InboundMessage, { sessionKey, sessionId }: Route, now: Date): Draft {
    const { channel, account } = message;
    return {
      sessionKey,
      ...(sessionId !== undefined && { sessionId }),
      source: account === undefined ? channel : `${channel}:${account}`,
      ...inboundKey(message),
      log: inboundLine(message, sessionKey, now),
    };
  }

  /** The settings of the session that this message may create. */
  async #create(
    message: InboundMessage,
    { record, newId, agentId }: Route,
    reset?: Reset,
  ): Promise<Pick<Inbound, 'create'>> {
    if (record !== undefined && reset === undefined) return {};
    const systemPrompt = await this.#options.workspaces.systemPromptFor(agentId);
    const settings = { ...(systemPrompt !== '' && { systemPrompt }), ...placeSettings(message) };
    const { owner } = message;
    return {
      create: {
        settings,
        ...(newId !== undefined && { id: newId }),
        ...(owner !== undefined && { owner }),
      },
    };
  }

  #assertAllowed({ channel, peerKind }: InboundMessage, { sessionKey, record, options }: Route): void {
    const settings = record?.settings ?? {};
    const { sendPolicy: rules } = options;
    if (sendAllowed({ rules, settings, sessionKey, channel, ...(peerKind && { chatType: peerKind }) }))
      return;
    throw failure(
      'SEND_DENIED',
      'send.denied',
      { sessionKey, channel: quotedValue(channel) },
      { details: { sessionKey, channel } },
    );
  }

  /** Not called for system events: they do not reset a session and do not count as activity. */
  async #expired(message: InboundMessage, route: Route, now: Date): Promise<Reset | undefined> {
    const { store } = this.#options.context;
    const { record, sessionKey, sessionId, options: rules } = route;
    // A message that names its session never resets it.
    if (record === undefined || sessionId !== undefined) return undefined;
    if (isRetired(record)) return { ...resetBy('archived'), from: record.id };
    const reasonAt = (lastActiveAt: Date): string | undefined =>
      resetReason({ rules, sessionKey, channel: message.channel, lastActiveAt, now });
    // If not even the oldest possible session would expire, skip reading it.
    if (reasonAt(new Date(0)) === undefined) return undefined;
    const lastActiveAt = await lastSpokenAt(store, record);
    const reason = lastActiveAt === undefined ? undefined : reasonAt(lastActiveAt);
    return reason === undefined ? undefined : { ...resetBy(reason), from: record.id };
  }

  async #accept(
    message: InboundMessage,
    route: Route,
    draft: Draft,
    { now, atOnce }: { readonly now: Date; readonly atOnce: boolean },
  ): Promise<Received> {
    const { record, options } = route;
    // A reset keeps the choices of the old session, so they apply to the first message of the new one.
    const queue = queueFor(options, record, message.channel);
    const { queue: asked, system = false } = message;
    const mode =
      asked === undefined || asked === 'reject'
        ? queue.mode
        : asked === 'steer+backlog'
          ? 'steer-backlog'
          : asked;
    const isSilent = isShared(message) && message.mentioned === false && !speaksUnasked(record);
    const body = withTicket(
      {
        ...bodyOf(message),
        from: originOf(message),
        ...(system && { system: true }),
        ...(isSilent && { silent: true }),
      },
      { mode, debounceMs: atOnce ? 0 : queue.debounceMs, at: now.getTime() },
    );
    const create = await this.#create(message, route, draft.reset);
    const receipt = await this.#put(route, {
      ...draft,
      ...create,
      body,
      class: system ? 'system' : 'message',
      queue: { cap: queue.cap, drop: queue.drop },
      ...(asked === 'reject' && { ifIdle: true }),
    });
    if (!receipt.fresh) return this.#told(receipt);
    this.#tellDropped(receipt);
    this.#options.wake(receipt.sessionId);
    await this.#notePlace(message, route, receipt);
    return received(receipt);
  }

  async #put({ newId, agentId }: Route, inbound: Inbound): Promise<InboxReceipt> {
    const { context, idForm } = this.#options;
    const { inbox } = context.store;
    if (inbound.create === undefined || newId !== undefined) return inbox.receive(inbound);
    return withNewId(
      idForm(agentId),
      () => context.options.clock.now(),
      (id) => inbox.receive({ ...inbound, create: { ...inbound.create, ...id } }),
    );
  }

  /** Runs a command at once, without the queue, in the process that received it, and at most once. */
  async #command(
    command: Command | UnknownCommand,
    message: InboundMessage,
    route: Route,
    draft: Draft,
  ): Promise<Received> {
    const { context, runCommand } = this.#options;
    const { store, hub } = context;
    const body = { command: message.text, from: originOf(message) };
    const create = await this.#create(message, route, draft.reset);
    const receipt = await this.#put(route, { ...draft, ...create, body, class: 'command' });
    if (!receipt.fresh) return this.#told(receipt);
    const { inboxId, sessionId } = receipt;
    // The transaction of the row has already done the reset.
    const isReset = draft.reset !== undefined;
    const refusal = isReset ? undefined : refusalOf(command, message, route);
    const { name, messages } = isReset
      ? { name: 'new', messages: [NEW_SESSION] }
      : (refusal ?? (await runCommand(command, sessionId)));
    const text = messagesText(messages);
    const end = { turnId: '', text, usage: NO_USAGE, tokenEstimate: 0 };
    const detail = { ...end, command: name, messages };
    await store.inbox.settle(inboxId, 'done', detail);
    const line = replyLine(await store.inbox.get(inboxId), text);
    if (line !== undefined) await store.convlog.append([line]);
    hub.publish({ sessionId, inboxId, event: { type: 'command', name, text, messages } });
    hub.publish({ sessionId, inboxId, event: { type: 'done', ...end } });
    return { ...received(receipt), command: { name, text, messages } };
  }

  /** Stores the message as dropped, so that its status can be read. It never runs. */
  async #ignore(inbound: Inbound, ignored: OwnOutput): Promise<Received> {
    const { store } = this.#options.context;
    const receipt = await store.inbox.receive({ ...inbound, class: 'command' });
    const by = ignored === 'own account' ? 'account' : 'words';
    const error = storedError(failure('INVALID_INPUT', 'message.ownOutput', { by }));
    await store.inbox.settle(receipt.inboxId, 'dropped', { ...error, reason: ignored });
    return { ...received(receipt), ignored };
  }

  async #told(receipt: InboxReceipt): Promise<Received> {
    const { detail = {} } = await this.#options.context.store.inbox.get(receipt.inboxId);
    const { reason } = detail as JsonObject;
    const command = commandIn(detail);
    const ignored = OWN_OUTPUTS.find((each) => each === reason);
    return {
      ...received(receipt),
      ...(command !== undefined && { command }),
      ...(ignored !== undefined && { ignored }),
    };
  }

  #tellDropped({ sessionId, dropped }: InboxReceipt): void {
    const { hub } = this.#options.context;
    const event = errorEvent(
      failure('QUEUE_FULL', 'message.dropped', {}, { details: { reason: 'queue-full' } }),
    );
    for (const inboxId of dropped) hub.publish({ sessionId, inboxId, event });
  }

  /** Stores from which chat the last message came. Written only when it changes, which is rare. */
  async #notePlace(
    message: InboundMessage,
    { record }: Route,
    { sessionId, created }: InboxReceipt,
  ): Promise<void> {
    if (record === undefined || created !== undefined || message.system === true) return;
    const place: JsonObject = { ...NO_PLACE, ...placeSettings(message) };
    const changed = Object.entries(place).filter(
      ([name, value]) => !isSame(record.settings[name] ?? null, value),
    );
    // A message in an archived session unarchives it.
    if (record.settings['archived'] === true) changed.push(['archived', null]);
    if (changed.length === 0) return;
    await this.#options.context.store.patch(sessionId, Object.fromEntries(changed));
  }
}

function refusalOf(
  command: Command | UnknownCommand,
  { channel }: InboundMessage,
  { options }: Route,
): Omit<AnsweredCommand, 'text'> | undefined {
  if ('unknown' in command || isOwnChannel(channel, options)) return undefined;
  const refusal = senderRefusal(command, options.senderCommands ?? []);
  return refusal === undefined ? undefined : { name: command.name, messages: [refusal] };
}

/** @returns the answer to a command from the row of its message, or undefined if the message was no command. */
export function commandIn({ command, text, messages }: JsonObject): AnsweredCommand | undefined {
  if (typeof command !== 'string') return undefined;
  // Rows of versions before messages had codes hold only the text.
  const coded = Array.isArray(messages) ? (messages as unknown as readonly Message[]) : [];
  return { name: command, text: String(text), messages: coded };
}

function received({ inboxId, sessionId, sessionKey, fresh }: InboxReceipt): Received {
  return { inboxId, sessionId, sessionKey, fresh };
}

function resetBy(reason: string): Reset {
  return { reason, forget: FORGOTTEN_ON_RESET };
}

function speaksUnasked(record: Route['record']): boolean {
  return groupActivationOf(record?.settings ?? {}) === 'always';
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Account and thread of an earlier message do not apply to a message that has none. */
const NO_PLACE: JsonObject = { lastTo: null, lastAccountId: null, lastThreadId: null };

function placeSettings(message: InboundMessage): JsonObject {
  const { channel, account, peer, peerKind = 'direct', thread } = message;
  return {
    chatType: peerKind,
    channel,
    lastChannel: channel,
    ...(peer !== undefined && { lastTo: peer }),
    ...(account !== undefined && { lastAccountId: account }),
    ...(thread !== undefined && { lastThreadId: thread }),
  };
}

/** The reason of a reset by command; the text of the command is not stored. */
const ASKED = 'asked for';
const NEW_SESSION = message('session.newOnChannel');
