import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runExample } from './support/processes/run-example.ts';

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-example-'));
});
afterAll(() => rmSync(home, { recursive: true }));

/** What each example prints; one that is not listed here fails below. */
const EXAMPLES: Readonly<Record<string, (run: () => string) => void>> = {
  'rebuild.ts': (run) => {
    const output = run();
    expect(output.trimEnd().split('\n')).toHaveLength(4);
    expect(output).toContain('tool_use_id');
  },
  'store.ts': (run) => expect(run()).toBe('{ firstSeq: 2, lastSeq: 2 } { firstSeq: 2, lastSeq: 2 } 1\n'),
  'chat.ts': (run) => {
    expect(run()).toMatch(/^You said: "My name is Ada\."[\s\S]*your name is Ada\.\n$/);
    // The same session goes on in the next process.
    expect(run()).toContain('I can see 5 messages');
  },
  'custom-tool.ts': (run) =>
    expect(run().trimEnd().split('\n')).toEqual([
      'call   find_order {"id":"A-17"}',
      'result false shipped on Monday',
      'call   find_order {"id":"B-99"}',
      'result true no order B-99',
    ]),
  'own-loop.ts': (run) => {
    const output = run();
    expect(output.match(/compacted, \d+ -> \d+ tokens/g)?.length).toBeGreaterThan(1);
    expect(output).toMatch(
      /40 turns, \d+ messages left, the first begins: \[Previous conversation summary\]\n$/,
    );
  },
  'subagent.ts': (run) =>
    expect(run().trimEnd().split('\n')).toEqual([
      'accepted true',
      'counter done told 36',
      '[The subagent "counter"',
    ]),
  'channels.ts': (run) =>
    expect(run().trimEnd().split('\n')).toEqual([
      'false false',
      expect.stringMatching(/^done You said: "My name is Ada\."/),
      expect.stringMatching(/^done /),
      'Queue: collect debounce:0.5s cap:20 drop:summarize',
      expect.stringContaining('your name is Ada'),
      expect.stringMatching(/^ada 6 /),
      expect.stringMatching(/^bob 2 /),
    ]),
  'http-client.ts': (run) => expect(run()).toMatch(/^You said: "My name is Ada\."[\s\S]*\ntrue\n$/),
  'plain-fetch.ts': (run) =>
    expect(run()).toBe('1 true true You said: "My name is Ada."\n2 true true You said: "My name is Ada."\n'),
  'ai-sdk-model.ts': (run) => expect(run()).toBe('Hello from the wire. (12 tokens in, 5 out)\n'),
};

describe('examples/', () => {
  test.each(readdirSync('examples').filter((name) => name.endsWith('.ts')))(
    '%s runs and says what it should',
    (name) => {
      const check = EXAMPLES[name];
      expect(check, `${name} has no test`).toBeDefined();
      const args = name === 'rebuild.ts' ? [] : [join(home, name)];
      check?.(() => runExample(join('examples', name), ...args));
    },
  );
});
