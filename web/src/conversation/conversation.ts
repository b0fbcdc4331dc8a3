import { batch, computed, type ReadonlySignal, signal } from '@preact/signals';
import {
  type ClientEventStream,
  type ClientSession,
  type ContextAnswer,
  RepriseError,
  type StreamEvent,
  sentence,
} from 'reprise/client';
import { client, failureText, isAbort } from '../api/api.ts';
import { nextFrame } from '../api/frames.ts';
import { TurnEar } from '../api/turn-ear.ts';
import { errorText, messageText, t } from '../i18n/strings.ts';
import { dialog } from '../shell/dialogs.ts';
import { say } from '../shell/toasts.ts';
import { type Edit, loadDraft, moveDraftToNew, saveUnsent, takeBackUnsent } from './drafts.ts';
import { HistoryWindow } from './history.ts';
import { type LiveTurn, liveText } from './live-turn.ts';
import { changePending, type Pending, type Picture } from './pending.ts';

interface ConversationOptions {
  readonly isNew?: boolean;
  /** There is no composer, so messages cannot be sent. */
  readonly isReadOnly?: boolean;
}

function newKey(): string {
  return crypto.randomUUID?.() ?? String(Math.random());
}

const UNSENT: ReadonlySet<Pending['state']> = new Set(['sending', 'failed']);

/** One open session: its history, the running turn and the queued messages. Views only read its signals. */
export class Conversation {
  readonly agentId: string;
  readonly id: string;
  readonly isReadOnly: boolean;
  readonly history: HistoryWindow;
  readonly #gone = new AbortController();
  readonly #state = signal<'loading' | 'new' | 'ready' | 'missing'>('loading');
  readonly #live = signal<LiveTurn | undefined>(undefined);
  readonly #pending = signal<readonly Pending[]>([]);
  readonly #takenBack = signal<Pending | undefined>(undefined);
  readonly #queued = signal(0);
  readonly #context = signal<ContextAnswer | undefined>(undefined);
  readonly #pins = signal<ReadonlySet<string>>(new Set());
  readonly #spoken = signal('');
  readonly #ends = signal(0);
  /** A computed signal, so that views do not render again for every delta. */
  readonly #busy = computed(
    () => this.#pending.value.some(({ state }) => state !== 'failed') || this.#live.value !== undefined,
  );
  readonly #ear = new TurnEar();
  #heard: { readonly by: object; readonly event: StreamEvent }[] = [];
  readonly #wasBegun: boolean;
  #isJoining = false;
  #isLooking = false;
  #problem = '';
  #reportedFallback: string | undefined;

  constructor(agentId: string, id: string, { isNew = false, isReadOnly = false }: ConversationOptions = {}) {
    this.agentId = agentId;
    this.id = id;
    this.isReadOnly = isReadOnly;
    this.history = new HistoryWindow(() => this.remote, this.#gone.signal);
    this.#wasBegun = isNew;
    if (isNew) this.#state.value = 'new';
    if (!isReadOnly) takeBackUnsent(id);
  }

  get state(): ReadonlySignal<'loading' | 'new' | 'ready' | 'missing'> {
    return this.#state;
  }
  /** Why the session cannot be shown; empty if it just does not exist. */
  get problem(): string {
    return this.#problem;
  }
  /** Storage key of the draft: that of the next new session until this session exists. */
  get draftKey(): string {
    return this.#wasBegun && this.#state.value === 'new' ? 'new' : this.id;
  }
  /** Counts requests to scroll to the end. */
  get ends(): ReadonlySignal<number> {
    return this.#ends;
  }
  get live(): ReadonlySignal<LiveTurn | undefined> {
    return this.#live;
  }
  get pending(): ReadonlySignal<readonly Pending[]> {
    return this.#pending;
  }
  /** Number of queued messages, including those of other clients. */
  get queued(): ReadonlySignal<number> {
    return this.#queued;
  }
  get context(): ReadonlySignal<ContextAnswer | undefined> {
    return this.#context;
  }
  get pins(): ReadonlySignal<ReadonlySet<string>> {
    return this.#pins;
  }
  /** The last answer that ended while this page was open, for screen readers. */
  get spoken(): ReadonlySignal<string> {
    return this.#spoken;
  }
  get remote(): ClientSession {
    return client.value.session(this.id, { agentId: this.agentId });
  }
  get isBusy(): boolean {
    return this.#busy.value;
  }
  /** No message can be sent to it. */
  get isClosed(): boolean {
    const view = this.history.view.value;
    return this.isReadOnly || view?.status === 'deleted' || view?.corruptAt !== undefined;
  }
  /** Whether the last shown message is the last of the session and can be sent again. */
  get canSayAgain(): boolean {
    return !this.isClosed && !this.isBusy && !this.history.hasNewer.value;
  }

  /**
   * Loads the session, around an entry if given, and follows the running turn. @returns false if the entry is on
   * another branch.
   */
  async open(entry?: string): Promise<boolean> {
    let isThere = true;
    try {
      if (entry === undefined) await this.history.loadLatest();
      else isThere = await this.history.loadAround(entry);
      this.#state.value = 'ready';
      void this.refreshFacts();
      void this.join();
    } catch (error) {
      const isUnknown = error instanceof RepriseError && error.code === 'SESSION_NOT_FOUND';
      const text = failureText(error);
      // Its first message was sent, is being sent, or is a draft.
      const isBegun = this.#state.value === 'ready' || this.isBusy || loadDraft(this.id) !== '';
      if (isUnknown && isBegun) {
        if (this.#state.value === 'loading') this.#state.value = 'new';
      } else if (text !== undefined) {
        this.#problem = isUnknown ? '' : text;
        if (error instanceof RepriseError && error.code === 'GONE') moveDraftToNew(this.id);
        this.#state.value = 'missing';
      }
    }
    return isThere;
  }

  close(): void {
    this.#gone.abort();
  }

  send(text: string, images: readonly Picture[] = []): void {
    this.#begin({ key: newKey(), text, images, state: 'sending' });
  }

  /** Replaces an earlier message, reusing its images; the old one remains as a branch. */
  sendInstead({ text, before, sent }: Edit): void {
    const key = sent?.text === text ? sent.key : newKey();
    this.#begin({ key, text, images: [], before, state: 'sending' });
  }

  /** Sends a refused message again, unchanged. */
  sendAgain(pending: Pending): void {
    this.#change(pending.key, { state: 'sending' });
    this.#transmit(pending);
  }

  /** Moves a refused message back into the composer, to be changed. */
  takeBack(pending: Pending): void {
    this.dropPending(pending.key);
    this.#takenBack.value = pending;
  }

  /** Puts a text into the composer, to be completed. */
  suggest(text: string): void {
    this.#takenBack.value = { key: '', text, images: [], state: 'failed' };
  }

  /** @returns the message to edit, once: only one composer may use it. */
  claimTakenBack(): Pending | undefined {
    const { value } = this.#takenBack;
    this.#takenBack.value = undefined;
    return value;
  }

  dropPending(key: string): void {
    this.#setPending(this.#pending.value.filter((one) => one.key !== key));
  }

  /** Follows a message that was already accepted. */
  follow(inboxId: string, text: string): void {
    const key = inboxId;
    this.#setPending([...this.#pending.value, { key, text, images: [], state: 'running', inboxId }]);
    void this.#pump(this.remote.stream({ inboxId, signal: this.#gone.signal }), key);
  }

  async stop(): Promise<void> {
    await this.remote.stop();
  }

  /** Scrolls to the message just sent, and follows its answer. */
  showEnd(): void {
    this.#ends.value++;
  }

  async cancelWaiting(): Promise<void> {
    await this.remote.stop({ waiting: true, running: false });
    this.#queued.value = 0;
  }

  /** Loads entries that other clients have added. */
  async catchUp(lastSeq: number): Promise<void> {
    if (this.#state.value !== 'ready' || this.isBusy || this.history.hasNewer.value) return;
    if (lastSeq <= (this.history.view.value?.lastSeq ?? 0)) return;
    await this.history.catchUp();
    void this.refreshFacts();
    await this.join();
  }

  /** Checks whether the session has changed or was deleted. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const { value: before } = this.history.view;
      const { session } = await this.remote.get({ signal: this.#gone.signal });
      // If an action here changed the session meanwhile, the answer is outdated.
      if (this.history.view.value === before) {
        await this.catchUp(session.lastSeq);
        const { value: view } = this.history.view;
        // Entries that are not loaded yet must still count as new.
        const seen = { ...session, lastSeq: Math.min(session.lastSeq, view?.lastSeq ?? 0) };
        if (JSON.stringify(seen) !== JSON.stringify(view)) this.history.setView(seen);
      }
      this.#isLooking = false;
    } catch (error) {
      this.#tell(error);
      // Report a deleted session once.
      this.#isLooking = error instanceof RepriseError && /GONE|NOT_FOUND/.test(error.code);
    }
  }

  /** Loads everything again, after an action that changed the history. */
  async reload(): Promise<void> {
    await this.history.loadLatest();
    await this.refreshFacts();
  }

  async refreshFacts(): Promise<void> {
    if (this.history.view.value?.status === 'deleted') return;
    try {
      const options = { signal: this.#gone.signal };
      const [context, pins] = await Promise.all([this.remote.context(options), this.remote.pins(options)]);
      batch(() => {
        this.#context.value = context;
        this.#pins.value = new Set(pins.pins.map(({ entryId }) => entryId));
      });
    } catch (error) {
      this.#tell(error);
    }
  }

  /** Follows the running turn, starting after the loaded history. */
  async join(): Promise<void> {
    if (this.#isJoining || this.#ear.isListening || this.history.view.value?.status === 'deleted') return;
    this.#isJoining = true;
    try {
      const { status, queued } = await this.remote.status({ signal: this.#gone.signal });
      this.#queued.value = queued;
      const lastEventId = `${this.history.view.value?.lastSeq ?? 0}.0`;
      if (status === 'generating' && !this.#ear.isListening)
        await this.#pump(this.remote.stream({ signal: this.#gone.signal, lastEventId }));
    } catch (error) {
      this.#tell(error);
    } finally {
      this.#isJoining = false;
    }
  }

  #begin(pending: Pending): void {
    this.#setPending([...this.#pending.value, pending]);
    this.#transmit(pending);
  }

  #transmit({ key, text: message, images, before }: Pending): void {
    const pictures = images.map(({ data, mimeType }) => ({ data, mimeType }));
    const request = {
      message,
      sessionId: this.id,
      ...(pictures.length > 0 && { images: pictures }),
      ...(before !== undefined && { before }),
    };
    const options = { signal: this.#gone.signal, idempotencyKey: key };
    void this.#pump(client.value.chat(this.agentId, request, options), key);
  }

  async #pump(stream: ClientEventStream, key?: string): Promise<void> {
    const by = {};
    try {
      for await (const event of stream) this.#hear(by, event, key);
    } catch (error) {
      if (isAbort(error)) return;
      const text = failureText(error);
      if (key !== undefined) this.#change(key, { state: 'failed', error: text ?? '' });
      else if (text !== undefined) say(text, { kind: 'error' });
    }
    await this.#settle(by, key);
  }

  #hear(by: object, event: StreamEvent, key: string | undefined): void {
    if (event.type === 'model_fallback') this.#reportFallback(event);
    if (event.type === 'session' && key !== undefined) {
      const { inboxId } = event;
      this.#state.value = 'ready';
      this.#change(key, { state: 'running', ...(inboxId !== undefined && { inboxId }) });
    } else if (event.type === 'queued') {
      if (key !== undefined) this.#change(key, { state: 'waiting' });
      this.#queued.value = Math.max(this.#queued.value, this.#waitingCount());
    } else if (event.type === 'turn_start' && key !== undefined) {
      // The message is stored before this event, so it may be loaded already with the previous answer: show it as live.
      const isNext = event.turnId !== this.#ear.turn?.turnId;
      if (isNext && this.#pending.value.some((one) => one.key === key && one.state === 'waiting'))
        this.history.cutUnended();
      this.#goToPlace(key);
      this.#change(key, { state: 'running' });
      this.#queued.value = this.#waitingCount();
    }
    this.#heard.push({ by, event });
    if (this.#heard.length === 1) nextFrame(() => this.#flush());
  }

  /** Once for each model: every turn of the session has the same fallback. */
  #reportFallback({ wanted, model, reason, why }: Extract<StreamEvent, { type: 'model_fallback' }>): void {
    if (wanted === this.#reportedFallback) return;
    this.#reportedFallback = wanted;
    say(`${t('modelFallback', wanted, model)} ${messageText(why) ?? sentence(reason)}`);
  }

  /**
   * When the turn of a replacing message starts, removes the old message and what followed it. Once, because a resumed
   * stream repeats the event.
   */
  #goToPlace(key: string): void {
    const { before, isPlaced } = this.#pending.value.find((one) => one.key === key) ?? {};
    if (before === undefined || isPlaced) return;
    this.history.cutBefore(before).catch((error: unknown) => this.#tell(error));
    this.#change(key, { isPlaced: true });
  }

  #change(key: string, change: Partial<Pending>): void {
    this.#setPending(changePending(this.#pending.value, key, change));
  }

  /** Messages the server has not accepted are stored in the tab (I-71). */
  #setPending(list: readonly Pending[]): void {
    this.#pending.value = list;
    const unsent = list.filter(({ state, inboxId }) => inboxId === undefined && UNSENT.has(state));
    saveUnsent(
      this.id,
      unsent.map(({ key, text, before }) => ({ key, text, ...(before !== undefined && { before }) })),
    );
  }

  #waitingCount(): number {
    return this.#pending.value.filter(({ state }) => state === 'waiting').length;
  }

  /** Renders all events since the last frame at once, because rendering every delta would be too slow. */
  #flush(): void {
    const heard = this.#heard;
    this.#heard = [];
    for (const { by, event } of heard) this.#ear.hear(by, event);
    this.#live.value = this.#ear.turn;
  }

  /** The history contains the turn now: replaces the live view in the same frame. */
  async #settle(by: object, key: string | undefined): Promise<void> {
    this.#flush();
    const wasLeader = this.#ear.isLeader(by);
    const spoken = wasLeader && this.#live.value !== undefined ? liveText(this.#live.value) : '';
    const command = this.#live.value?.parts.find(
      (part) => part.type === 'note' && part.note.kind === 'command',
    );
    if (wasLeader && command?.type === 'note' && command.note.kind === 'command') {
      const title = this.#pending.value.find((one) => one.key === key)?.text ?? '/';
      dialog.value = { kind: 'answer', title, answer: command.note.answer };
    }
    const failure = wasLeader ? this.#live.value?.error : undefined;
    const failedTurn = this.#live.value?.turnId ?? '';
    try {
      if (this.#state.value === 'ready') await this.history.catchUp();
      // The next message has started: it is stored, and its live view follows.
      if (this.#pending.value.some((one) => one.key !== key && one.state === 'running'))
        this.history.cutUnended();
    } catch (error) {
      this.#tell(error);
    }
    const isRefused = this.#pending.value.find((one) => one.key === key)?.state === 'failed';
    batch(() => {
      this.#ear.forget(by);
      this.#live.value = this.#ear.turn;
      if (key !== undefined && !isRefused) this.dropPending(key);
      this.#queued.value = this.#waitingCount();
      if (spoken !== '') this.#spoken.value = spoken;
    });
    // The history usually shows the failed turn with a retry button; then no toast is needed.
    const isInSight = !this.history.hasNewer.value && this.history.hasTurn(failedTurn);
    if (failure !== undefined && failure.code !== 'ABORTED' && !isInSight)
      say(errorText(failure), { kind: 'error' });
    if (this.#state.value === 'ready') void this.refreshFacts();
  }

  #tell(error: unknown): void {
    const text = failureText(error);
    if (text !== undefined) say(text, { kind: 'error' });
  }
}
