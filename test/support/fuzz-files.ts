import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../src/config/open.ts';
import { openSource } from '../../src/interop/import/detect.ts';
import { openControl } from '../../src/store/sqlite/control-file.ts';

/** Good files on disk that are read by programs which did not write them, to be opened with other bytes in them. */
export interface FuzzFiles extends Disposable {
  /** control.db of a home: the index of its sessions. */
  readonly index: Buffer;
  /** `sessions.json` as other systems keep it. */
  readonly foreign: Buffer;
  openIndex(bytes: Buffer): string;
  openForeign(bytes: Buffer): Promise<string>;
}

export async function makeFuzzFiles(): Promise<FuzzFiles> {
  const root = mkdtempSync(join(tmpdir(), 'reprise-fuzz-'));
  const [good, home, other] = ['good', 'home', 'other'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  {
    await using store = await openStore({ kind: 'jsonl', home: good, durability: 'os' });
    for (const id of ['a', 'b', 'c']) {
      await store.create({ id, key: `agent:main:web:direct:${id}`, activate: true, settings: { label: id } });
      await store.append(id, [{ type: 'message', message: { role: 'user', content: `hello ${id}` } }]);
      await store.inbox.receive({
        sessionKey: `agent:main:web:direct:${id}`,
        source: 'web',
        body: { text: id },
      });
    }
  }
  const sessions = ['agents', 'main', 'sessions'];
  cpSync(join(good, 'agents'), join(other, 'agents'), { recursive: true });
  const foreign = {
    'agent:main:main': {
      sessionId: 'a',
      sessionFile: 'a.jsonl',
      updatedAt: 1,
      model: 'm',
      thinkingLevel: 'high',
    },
    'agent:main:web:direct:b': { sessionId: 'b', sessionFile: '/home/x/b.jsonl', updatedAt: 2, label: 'b' },
    'agent:main:web:direct:c': { sessionId: 'c', compactionCount: 3 },
  };
  return {
    index: readFileSync(join(good, 'control.db')),
    foreign: Buffer.from(JSON.stringify(foreign)),
    openIndex(bytes) {
      rmSync(home, { recursive: true, force: true });
      mkdirSync(home, { mode: 0o700 });
      const path = join(home, 'control.db');
      writeFileSync(path, bytes);
      const { db } = openControl({ path, home, durability: 'os' });
      try {
        const rows = ['sessions', 'active', 'inbox'].flatMap((table) => db.rows(`SELECT * FROM ${table}`));
        return rows.length === 9 ? 'whole' : 'part';
      } finally {
        db.close();
      }
    },
    async openForeign(bytes) {
      writeFileSync(join(other, ...sessions, 'sessions.json'), bytes);
      const source = await openSource(other);
      for (const { read } of source.sessions) await read();
      return source.problems.length === 0 ? 'read' : 'problems';
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}
