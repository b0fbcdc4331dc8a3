import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { verify } from '../../src/cli/commands/home.ts';
import { print } from '../../src/cli/terminal/print.ts';
import { Progress } from '../../src/cli/terminal/progress.ts';
import { openStore } from '../../src/config/open.ts';
import { byteCount } from '../../src/messages/english-format.ts';
import { Screen } from '../support/processes/screen.ts';

/** What both streams sent to one terminal, and how it looks. */
let raw = '';
let screen: Screen;
beforeEach(() => {
  raw = '';
  screen = new Screen(80);
  const write = (text: string | Uint8Array): boolean => {
    raw += String(text);
    screen.write(String(text));
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(write);
  vi.spyOn(process.stderr, 'write').mockImplementation(write);
  Object.defineProperty(process.stderr, 'isTTY', { value: true, configurable: true, writable: true });
  // Every look at the clock is half a second later: all work is long.
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 500));
});
const wasTerminal = process.stderr.isTTY;
afterEach(() => {
  vi.restoreAllMocks();
  Object.defineProperty(process.stderr, 'isTTY', { value: wasTerminal, configurable: true, writable: true });
});

test('a bar is removed before the result is printed, and is drawn again by later work', () => {
  {
    using bar = new Progress('reading', byteCount);
    bar.show(1_234_567, 50_000_000);
    expect(screen.text).toContain('2% reading: 1.2 MB of 50 MB');
    print('result');
    expect(screen.text.trim()).toBe('result');
    bar.show(2_000, 2_000_000_000);
    expect(screen.text).toContain('0% reading: 2.0 KB of 2.0 GB');
  }
  expect(screen.text.trim()).toBe('result');
});

test('bytes are written in KB, MB and GB', () => {
  const written = [0, 1, 999, 1000, 9_949, 9_999, 999_499, 999_600, 35_000_000, 4.2e9, 1e15].map(byteCount);
  expect(written.join(', ')).toBe(
    '0 bytes, 1 byte, 999 bytes, 1.0 KB, 9.9 KB, 10 KB, 999 KB, 1.0 MB, 35 MB, 4.2 GB, 1,000 TB',
  );
});

test('verify draws its progress and prints the result in its place', async () => {
  const home = mkdtempSync(join(tmpdir(), 'reprise-progress-'));
  try {
    {
      await using store = await openStore({ home, durability: 'os' });
      for (const id of ['one', 'two']) await store.create({ id, key: `agent:main:session:${id}` });
    }
    expect(await verify(undefined, { home })).toBe(0);
  } finally {
    rmSync(home, { recursive: true });
  }
  expect(raw).toContain('100% verifying sessions: 2 of 2');
  expect(screen.text.trim()).toBe('clean');
});
