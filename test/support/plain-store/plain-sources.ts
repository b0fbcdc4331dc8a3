import type * as port from '../../../src/store/port/sources.ts';
import { checkMark, checkSource } from '../../../src/store/rules/check-input.ts';
import type { PlainData, PlainSession } from './plain-data.ts';

/** What sources need of the sessions. */
interface Sessions {
  origin(session: PlainSession): { readonly source?: port.SessionSource };
  stored(session: PlainSession): { readonly seq: number; readonly entry: object }[];
}

/** Sources, read from the lines at every question. */
export class PlainSources implements port.Sources {
  readonly #data: PlainData;
  readonly #sessions: Sessions;

  constructor(data: PlainData, sessions: Sessions) {
    this.#data = data;
    this.#sessions = sessions;
  }

  async find(source: port.SessionSource): Promise<port.SourceRecord | undefined> {
    const { tool, id } = checkSource(source);
    return this.#all().find((one) => one.tool === tool && one.id === id);
  }

  async of(sessionId: string): Promise<port.SourceRecord | undefined> {
    return this.#all().find((one) => one.sessionId === sessionId);
  }

  async list({ tool, after = '', limit = 1000 }: port.SourceListOptions = {}): Promise<port.SourcePage> {
    const all = this.#all()
      .filter((one) => (tool === undefined || one.tool === tool) && one.sessionId > after)
      .sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1));
    const page = all.slice(0, limit);
    return { sources: page, next: all.length > limit ? (page.at(-1)?.sessionId ?? null) : null };
  }

  async mark(sessionId: string, mark: port.SourceMark): Promise<void> {
    this.#data.marks.set(sessionId, structuredClone(checkMark(mark)));
  }

  async entries(sessionId: string, sourceIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    for (const { seq, entry } of this.#linesOf(sessionId)) {
      const { sourceId } = entry as { readonly sourceId?: unknown };
      if (typeof sourceId === 'string' && sourceIds.includes(sourceId)) found.set(sourceId, seq);
    }
    return found;
  }

  #linesOf(sessionId: string): { readonly seq: number; readonly entry: object }[] {
    const session = this.#data.sessions.get(sessionId.toLowerCase());
    return session === undefined ? [] : this.#sessions.stored(session);
  }

  #all(): port.SourceRecord[] {
    return [...this.#data.sessions.values()].flatMap((session) => {
      const { source } = this.#sessions.origin(session);
      const mark = this.#data.marks.get(session.id);
      return source === undefined ? [] : [{ sessionId: session.id, ...source, ...mark }];
    });
  }
}
