import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEngine, say, scripted } from '../../support/engine/engine.ts';

test('before a compaction, once per cycle, notes go to MEMORY.md and nothing of that call to the history', async () => {
  const workspace = mkdtempSync(join(tmpdir(), 'reprise-memory-'));
  try {
    const filler = 'because '.repeat(500);
    let notes = 0;
    const step = (request: { system?: string }): string => {
      if (request.system?.includes('keep the notes') === true) return `- note ${++notes}: prefers plum`;
      return request.system?.includes('summarizer') === true ? 'the gist' : `answer ${filler}`;
    };
    const script = Array.from({ length: 200 }, () => step as never);
    await using at = await openEngine(scripted(script, 16_000), {
      agents: { main: { workspace, tools: { allow: [] } } },
      compaction: { background: false, memoryFlush: true },
      clock: () => new Date('2026-01-02T03:04:05Z'),
    });
    let compactions = 0;
    for (let i = 0; i < 40 && compactions < 3; i++) {
      const events = await say(at.session, `question ${i} ${filler}`);
      compactions += events.filter(({ type }) => type === 'compaction').length;
    }
    expect(compactions).toBe(3);
    expect(notes).toBe(3);
    const memory = readFileSync(join(workspace, 'MEMORY.md'), 'utf8');
    expect(memory.match(/prefers plum/g)).toHaveLength(3);
    expect(memory).toContain('## 2026-01-02, question 0');
    const { settings } = await at.session.record();
    expect(settings).toMatchObject({
      compactionCount: 3,
      memoryFlushCompactionCount: 2,
      memoryFlushAt: Date.parse('2026-01-02T03:04:05Z'),
    });
    for (const { system, messages } of at.model.requests)
      if (system === undefined) expect(JSON.stringify(messages)).not.toContain('prefers plum');
  } finally {
    rmSync(workspace, { recursive: true });
  }
});
