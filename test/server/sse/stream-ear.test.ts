import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../../src/engine/events.ts';
import { Ear } from '../../../src/server/sse/ear.ts';
import { SessionLog } from '../../../src/server/sse/event-log.ts';
import type { Frame } from '../../../src/server/sse/frame.ts';
import {
  type Ask,
  encodeMessage,
  MessageReader,
  type TurnPart,
} from '../../../src/server/sse/relay-message.ts';
import { LIVE_EVENT_BYTES } from '../../../src/store/port/store.ts';

const runs = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 60);
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };

type Told = SessionEvent['event'];

/** The events of a turn: deltas, entries, and now and then a message that joins it. */
class Turns {
  readonly log: SessionLog;
  #epoch = 1;
  #seq = 3;
  #turn = 0;
  #members: string[] = [];

  constructor(maxSize = 1 << 30) {
    this.log = new SessionLog('s', maxSize, () => undefined);
  }

  act(kind: number, size: number): void {
    if (this.#members.length === 0) this.#begin(kind === 0);
    else if (kind < 6) {
      for (let i = 0; i < size; i++) this.#tell({ type: 'text_delta', text: `${this.#turn}.${i} ` });
    } else if (kind === 6) this.#tell({ type: 'entry', seq: ++this.#seq, entryType: 'message' });
    else if (kind === 7) this.#join();
    else this.#end();
  }

  #begin(isElsewhere: boolean): void {
    if (isElsewhere) this.#epoch++;
    this.#members = [`m${++this.#turn}`];
    this.#tell(this.#start());
  }

  #start(): Told {
    return { type: 'turn_start', turnId: `t${this.#turn}`, model: 'm', seq: this.#seq };
  }

  #join(): void {
    this.#members.push(`m${this.#turn}-${this.#members.length}`);
    const [inboxId] = this.#members.slice(-1) as [string];
    this.log.take({ sessionId: 's', inboxId, epoch: this.#epoch, event: this.#start() });
  }

  #end(): void {
    this.#tell({ type: 'entry', seq: ++this.#seq, entryType: 'message' });
    this.#tell({ type: 'done', turnId: `t${this.#turn}`, text: 'x', usage, tokenEstimate: 1 });
    this.#members = [];
  }

  #tell(event: Told): void {
    for (const inboxId of this.#members)
      this.log.take({ sessionId: 's', inboxId, epoch: this.#epoch, event });
  }
}

/** Every event by itself, with its id: how many were put into one differs. */
function single(log: SessionLog, after: number): string[] {
  return log.read(after, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY).frames.map(shown);
}

function shown({ id, event }: Frame): string {
  return `${id.seq}.${id.n} ${JSON.stringify(event)}`;
}

const act = fc.record({
  kind: fc.integer({ min: 0, max: 9 }),
  size: fc.integer({ min: 1, max: 400 }),
  fate: fc.constantFrom('comes', 'comes', 'lost', 'twice', 'late'),
});

describe('what one process sends to another', () => {
  test('comes out with the same numbers, whatever was lost, doubled or late', () => {
    fc.assert(
      fc.property(fc.array(act, { minLength: 5, maxLength: 60 }), fc.boolean(), (acts, isHeardFirst) => {
        const turns = new Turns();
        const heard = new SessionLog('s', 1 << 30, () => undefined);
        const asks: Ask[] = [];
        const ear = new Ear(heard, (ask) => asks.push(ask));
        const late: TurnPart[] = [];
        let told = 0;
        for (const [i, { kind, size, fate }] of acts.entries()) {
          turns.act(kind, size);
          const parts = [...turns.log.parts(told, 2000)];
          told = turns.log.last;
          if (fate === 'lost' || (i < 5 && !isHeardFirst)) continue;
          if (fate === 'late') late.unshift(...parts);
          else for (const part of parts) ear.take(part);
          if (fate === 'twice') for (const part of parts) ear.take(part);
        }
        for (const part of late) ear.take(part);
        // In the end what is asked for comes.
        for (let isMore = true; isMore; ) {
          asks.length = 0;
          ear.ask();
          const before = heard.last;
          for (const ask of asks.splice(0)) {
            const from = turns.log.answerFrom(ask);
            if (from !== undefined) for (const part of turns.log.parts(from, 2000)) ear.take(part);
          }
          isMore = heard.last > before;
        }
        ear[Symbol.dispose]();
        const { newest } = turns.log;
        // Turns that ended before any of their events arrived are reported from the store.
        if (heard.newest === undefined) {
          expect(newest?.end).toBeDefined();
          return;
        }
        expect(heard.newest?.turnId).toBe(newest?.turnId);
        expect([...(heard.newest?.members ?? [])]).toEqual([...(newest?.members ?? [])]);
        expect(heard.newest?.end).toBe(newest?.end);
        // The next turn has to wait for what is missing of the last one.
        for (let i = acts.length; i > 0; i--) expect(heard.turnOf(`m${i}`)?.isLost).toBeUndefined();
        const from = newest?.before ?? 0;
        expect(textIn(heard, from)).toEqual(textIn(turns.log, from));
        const places = single(heard, from).length;
        expect(places).toBeGreaterThan(0);
      }),
      { numRuns: runs },
    );
  });

  test('continues from what is left when the process it runs in has forgotten a part', () => {
    const turns = new Turns(4000);
    const heard = new SessionLog('s', 1 << 30, () => undefined);
    const ear = new Ear(heard, () => undefined);
    turns.act(1, 1);
    for (const part of turns.log.parts(0, 2000)) ear.take(part);
    const [first] = [heard.newest];
    for (let i = 0; i < 5; i++) {
      turns.act(1, 50);
      turns.act(6, 1);
    }
    turns.act(1, 3);
    for (const part of turns.log.parts(heard.last, 2000)) ear.take(part);
    ear[Symbol.dispose]();
    expect(first?.isLost).toBe(true);
    expect(heard.newest).toMatchObject({ turnId: 't1', before: first?.before });
    expect(heard.last).toBe(turns.log.last);
    expect(heard.has(first?.before ?? 0)).toBe(false);
    expect(single(heard, 0)).toEqual(single(turns.log, 0));
  });

  test('is cut into messages a store passes on, and put together whatever their order', () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 1000 }), fc.nat(), (unit, times, seed) => {
        const part = { turnId: unit.repeat(times) } as TurnPart;
        const messages = encodeMessage('a', { kind: 'told', part });
        for (const json of messages)
          expect(Buffer.byteLength(JSON.stringify(json))).toBeLessThanOrEqual(LIVE_EVENT_BYTES);
        const reader = new MessageReader();
        const order = messages.map((_, i) => (i + seed) % messages.length).reverse();
        const read = order.flatMap((i) => reader.read(messages[i] as (typeof messages)[0]) ?? []);
        expect(read).toHaveLength(1);
        expect(read[0]?.message).toEqual({ kind: 'told', part });
      }),
      { numRuns: runs },
    );
    expect(new MessageReader().read({ relay: 2, from: 'a', body: '{}' })).toBeUndefined();
    expect(new MessageReader().read({ relay: 1, from: 'a', body: 'no' })).toBeUndefined();
    expect(new MessageReader().read({ n: 1 })).toBeUndefined();
  });
});

/** The text behind each number that a client could be at. */
function textIn(log: SessionLog, after: number): string[] {
  const ends: string[] = [];
  for (let n = after; n < log.last; n += 37) {
    const { frames } = log.read(n, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    ends.push(frames.map(({ event }) => ('text' in event ? event.text : event.type)).join(''));
  }
  return ends;
}
