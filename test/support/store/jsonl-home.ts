import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../../src/config/open.ts';
import type { NewEntry, Store } from '../../../src/store/port/store.ts';
import { until } from './store-faults.ts';

export const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });

/** A home with one store open on it, and the view on its files that another tool has. */
export class JsonlHome implements AsyncDisposable {
  readonly path: string = mkdtempSync(join(tmpdir(), 'reprise-home-'));
  #store: Store | undefined;

  get store(): Store {
    if (this.#store === undefined) throw new Error('the test forgot to open the store');
    return this.#store;
  }

  async open(): Promise<Store> {
    this.#store = await openStore({ kind: 'jsonl', home: this.path });
    return this.#store;
  }

  async close(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    await store?.[Symbol.asyncDispose]();
  }

  async reopen(): Promise<Store> {
    await this.close();
    return this.open();
  }

  /** Opens again without the index: the files alone decide. */
  async rebuild(): Promise<Store> {
    await this.close();
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(this.path, `control.db${suffix}`), { force: true });
    return this.open();
  }

  /** A new session with these messages, all of them in its file. */
  async seed(id: string, ...texts: readonly string[]): Promise<void> {
    await this.store.create({ id, key: 'agent:main:main' });
    for (const text of texts) await this.store.append(id, [say(text)], { key: `key-${text}` });
    await this.followed();
  }

  file(id = 's1'): string {
    return join(this.path, 'agents', 'main', 'sessions', `${id}.jsonl`);
  }

  /** Resolves when the files have every committed line. */
  async followed(): Promise<void> {
    await until('the transcripts follow', async () => (await this.store.stats()).behind === 0);
  }

  /** Resolves when the index has compared itself with the folders, so that it does not look into new files any more. */
  async compared(): Promise<void> {
    await until('the index is compared', async () => (await this.store.stats()).rebuilding === undefined);
  }

  async texts(id = 's1'): Promise<unknown[]> {
    const { entries } = await this.store.read(id, { from: 2, limit: 1000 });
    return entries.map(({ entry }) => {
      const { message, customType, type } = entry as {
        message?: { content?: unknown };
        [name: string]: unknown;
      };
      return message?.content ?? customType ?? type;
    });
  }

  quarantine(): Buffer[] {
    const folder = join(this.path, 'quarantine');
    try {
      return readdirSync(folder)
        .sort()
        .map((name) => readFileSync(join(folder, name)));
    } catch {
      // Made when it is needed.
      return [];
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    rmSync(this.path, { recursive: true, force: true });
  }
}
