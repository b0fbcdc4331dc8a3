// @module-tag scaled
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseTranscript, rebuildHistory } from '../../src/exports/transcript.ts';
import type { Entry } from '../../src/index.ts';
import { writeClaw0, writeClaw0Classic } from '../../src/interop/export/claw0-layout.ts';
import { toHtml } from '../../src/interop/export/html.ts';
import { type Layout, LayoutFolder } from '../../src/interop/export/layout.ts';
import { LeftOutCounter } from '../../src/interop/export/left-out.ts';
import { toMarkdown } from '../../src/interop/export/markdown.ts';
import { v3Lines } from '../../src/interop/export/v3.ts';
import { writeZyhive } from '../../src/interop/export/zyhive-layout.ts';
import { openSource } from '../../src/interop/import/detect.ts';
import type { SessionDocument } from '../../src/interop/session-document.ts';
import { type History, histories, historyBytes } from '../support/engine/histories.ts';

const RUNS = Number(process.env['REPRISE_HISTORY_RUNS'] ?? process.env['REPRISE_PROPERTY_RUNS'] ?? 20);
fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-any-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function documentOf(entries: readonly Entry[]): SessionDocument {
  const at = '2025-01-01T00:00:00.000Z';
  return {
    id: 'any',
    agentId: 'main',
    key: 'agent:main:main',
    title: 'any',
    settings: {},
    active: true,
    messageCount: 0,
    tokenEstimate: 0,
    sourceKey: undefined,
    createdAt: at,
    lastAt: at,
    header: { type: 'session', version: 3, id: 'any', timestamp: at, cwd: '' },
    entries,
    corruptAt: undefined,
    lostParts: 0,
  };
}

async function* only<T>(value: T): AsyncGenerator<T> {
  yield value;
}
async function* nothing(): AsyncGenerator<never> {}

let runs = 0;
async function throughLayout(layout: Layout, entries: readonly Entry[]): Promise<readonly Entry[]> {
  const out = join(folder, String(runs++));
  mkdirSync(out);
  await layout({
    documents: only(documentOf(entries)),
    convlogs: nothing(),
    out: new LayoutFolder(out, false),
    leftOut: new LeftOutCounter(),
    full: false,
  });
  try {
    const [found] = (await openSource(out)).sessions;
    const read = await found?.read();
    return read?.entries ?? [];
  } finally {
    rmSync(out, { recursive: true });
  }
}

function readEntries(history: History): readonly Entry[] | undefined {
  try {
    return parseTranscript(historyBytes(history)).entries;
  } catch {
    // Cut down to nothing, or garbage alone: there is no session to write.
    return undefined;
  }
}

/** Spaces at the end of a text go where it is the last one, which a call that is left out can make it. */
function said(entries: readonly Entry[], carrier: 'user' | 'user+assistant'): unknown {
  const messages = rebuildHistory(entries, {
    format: 'anthropic',
    carrier,
    target: { provider: '-', model: '-' },
  });
  return JSON.parse(JSON.stringify(messages), (name, value: unknown) =>
    name === 'text' && typeof value === 'string' ? value.trimEnd() : value,
  );
}

test.each([
  ['claw0', writeClaw0, 'user+assistant'],
  ['claw0-classic', writeClaw0Classic, 'user+assistant'],
  ['zyhive', writeZyhive, 'user'],
] as const)(
  'any history says the same to a model after %s',
  async (_name, layout, carrier) => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const entries = readEntries(history);
        if (entries === undefined) return;
        expect(said(await throughLayout(layout, entries), carrier)).toEqual(said(entries, carrier));
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: 20_000 },
    );
  },
  60_000,
);

test('any history can be read by people, and v3 gives it back word for word', () => {
  fc.assert(
    fc.property(histories, (history) => {
      const entries = readEntries(history);
      if (entries === undefined) return;
      const document = documentOf(entries);
      expect([...toHtml(document)].join('')).toContain('</html>');
      expect([...toMarkdown(document)].join('')).toContain('# any');
      const plain = entries.map(({ seal: _, ...entry }) => entry);
      expect(parseTranscript([...v3Lines(document)].join('')).entries).toEqual(plain);
    }),
    { numRuns: RUNS },
  );
});
