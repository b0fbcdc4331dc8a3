// @module-tag long
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { COMMAND } from '../../support/processes/bundled-command.ts';

/** Each command is a separate process, and machines can be busy. */
const timeout = 180_000;

let home = '';
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'reprise-home-'));
  await using store = await openStore({ kind: 'jsonl', home });
  for (const [id, title] of [
    ['first-1', 'Plan the garden'],
    ['first-2', 'Plan the trip'],
    ['second', 'Fix the bike'],
  ] as const) {
    await store.create({ id, key: `agent:main:tg:direct:${id}` });
    await store.append(id, [{ type: 'message', message: { role: 'user', content: title } }]);
    const data = Buffer.alloc(100_000).toString('base64');
    const content = [{ type: 'image', data, mimeType: 'image/png' }];
    if (id === 'first-1') await store.append(id, [{ type: 'message', message: { role: 'user', content } }]);
  }
  await store.activate('agent:main:tg:direct:second', 'second');
}, timeout);
afterAll(() => rmSync(home, { recursive: true }));

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function runAt(place: string, args: readonly string[]): Ran {
  const { FORCE_COLOR: _, ...env } = process.env;
  return spawnSync(process.execPath, [COMMAND, ...args, '--home', place], { encoding: 'utf8', env });
}

function reprise(...args: readonly string[]): Ran {
  return runAt(home, args);
}

interface Copied extends Disposable {
  run(...args: readonly string[]): Ran;
  readonly place: string;
}

/** The same home for a test that changes it: the others read theirs as it was. */
function copyHome(): Copied {
  const place = mkdtempSync(join(tmpdir(), 'reprise-copied-'));
  cpSync(home, place, { recursive: true });
  return {
    place,
    run: (...args) => runAt(place, args),
    [Symbol.dispose]: () => rmSync(place, { recursive: true }),
  };
}

describe('a home from the command line', () => {
  test('ls lists sessions newest first, for people and for programs', () => {
    const { status, stdout } = reprise('ls');
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^\* +just now +Fix the bike[\s\S]*^ +just now +Plan the trip[\s\S]*^ +just now +Plan the garden/m,
    );
    const { data, hasMore, lastId } = JSON.parse(
      reprise('ls', 'plan', '--json', '--limit', '1').stdout,
    ) as Record<string, unknown>;
    expect({ data, hasMore, lastId }).toMatchObject({
      data: [{ id: 'first-2', title: 'Plan the trip' }],
      hasMore: true,
      lastId: 'first-2',
    });
  });

  test.each([
    ['an id', 'second', 'Fix the bike'],
    ['the start of an id', 'sec', 'Fix the bike'],
    ['the start of a title', 'plan the g', 'Plan the garden'],
    ['a session key', 'agent:main:tg:direct:second', 'Fix the bike'],
    ['@last', '@last', 'Fix the bike'],
    ['@-2', '@-2', 'Plan the trip'],
  ])('show finds a session by %s', (_what, ref, text) => {
    expect(reprise('show', ref).stdout).toContain(text);
  });

  test('an ambiguous ref lists the candidates, an unknown one names the next step', () => {
    const ambiguous = reprise('show', 'first');
    expect(ambiguous.status).toBe(4);
    expect(ambiguous.stderr).toMatch(
      /AMBIGUOUS_REF[\s\S]*first-2 {2}Plan the trip[\s\S]*first-1 {2}Plan the garden/,
    );
    expect(reprise('show', 'nothing')).toMatchObject({
      status: 4,
      stderr: expect.stringContaining('reprise ls'),
    });
  });

  test('path prints where home and transcripts are', () => {
    expect(reprise('path').stdout.trim()).toBe(home);
    const file = reprise('path', 'second').stdout.trim();
    expect(readFileSync(file, 'utf8')).toContain('Fix the bike');
  });

  test('locks lists no leases when no process holds one', () => {
    expect(JSON.parse(reprise('locks', '--json').stdout)).toEqual({ data: [], hasMore: false, lastId: null });
  });

  test('verify answers by exit code: clean, and damaged', { timeout }, () => {
    using copied = copyHome();
    const { run } = copied;
    expect(run('verify')).toMatchObject({ status: 0, stdout: 'clean\n' });
    // A sound session keeps its key: there is nothing to repair.
    expect(run('repair', 'second')).toMatchObject({
      status: 0,
      stdout: 'Nothing to repair: second is not damaged.\n',
    });
    const file = run('path', 'first-1').stdout.trim();
    const bytes = readFileSync(file);
    const damaged = Buffer.from(bytes);
    damaged[damaged.indexOf('Plan')] = 0x70;
    writeFileSync(file, damaged);
    expect(run('verify', 'first-1')).toMatchObject({
      status: 6,
      stderr: expect.stringContaining('"reprise repair first-1" copies what can be read'),
    });
    expect(run('verify', 'second').status).toBe(0);
    const fixed = JSON.parse(run('repair', 'first-1', '--json').stdout) as {
      repaired: string;
      entries: number;
    };
    expect(fixed).toMatchObject({ from: 'first-1', damagedAt: expect.any(Number) });
    expect(run('verify', fixed.repaired).status).toBe(0);
    const blobs = (transcript: string): string[] => readdirSync(transcript.replace(/jsonl$/, 'blobs'));
    expect(blobs(file)).toHaveLength(1);
    expect(blobs(run('path', fixed.repaired).stdout.trim())).toEqual(blobs(file));
    expect(readFileSync(file)).toEqual(damaged);
  });

  test('verify names the next step for every kind of damage', { timeout }, () => {
    using copied = copyHome();
    const { run, place } = copied;
    const file = (id: string): string => join(place, 'agents', 'main', 'sessions', `${id}.jsonl`);
    rmSync(join(place, 'agents', 'main', 'sessions', 'first-1.blobs'), { recursive: true });
    rmSync(file('first-2'));
    rmSync(file('second'));
    mkdirSync(file('second'));
    const { status, stdout, stderr } = run('verify');
    expect(status).toBe(6);
    for (const found of ['first-1 .*missing-blob', 'first-2 .*missing-lines', 'second .*not-a-file'])
      expect(stdout).toMatch(new RegExp(found));
    expect(stderr).toContain('Restore the blob from a backup, or "reprise repair first-1"');
    expect(stderr).toContain('"reprise repair first-2" copies what can be read into a new session');
    expect(stderr).toContain('The transcript path of second is not a regular file');
    const fixed = JSON.parse(run('repair', 'first-1', '--json').stdout) as { repaired: string };
    expect(run('verify', fixed.repaired).status).toBe(0);
  });

  test('a cut transcript: show and verify say which lines are lost, and the session continues', {
    timeout,
  }, async () => {
    const cut = mkdtempSync(join(tmpdir(), 'reprise-cut-'));
    const at = (...args: readonly string[]): { status: number | null; stdout: string } =>
      spawnSync(process.execPath, [COMMAND, ...args, '--home', cut], { encoding: 'utf8' });
    try {
      const file = join(cut, 'agents/main/sessions/s1.jsonl');
      {
        await using store = await openStore({ kind: 'jsonl', home: cut });
        await store.create({ id: 's1', key: 'agent:main:main' });
        for (const content of ['kept', 'lost'])
          await store.append('s1', [{ type: 'message', message: { role: 'user', content } }]);
      }
      truncateSync(file, readFileSync(file).indexOf('lost'));
      {
        await using store = await openStore({ kind: 'jsonl', home: cut });
        await store.append('s1', [{ type: 'message', message: { role: 'user', content: 'later' } }]);
      }
      expect(at('show', 's1').stdout).toMatch(
        /kept[\s\S]*lines 3 to 3 are lost: cut from outside[\s\S]*later/,
      );
      expect(at('verify')).toMatchObject({ status: 1, stdout: expect.stringContaining('lost-lines') });
      // It has gone on already, with all that can be read: it keeps its key.
      expect(at('repair', 's1')).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('Nothing to repair'),
      });
      // Of another tool: one lock of a live process, one that was left behind.
      writeFileSync(
        `${file}.lock`,
        JSON.stringify({ pid: process.pid, createdAt: new Date().toISOString() }),
      );
      expect(at('locks').stdout).toMatch(new RegExp(`s1 .*s1.jsonl.lock .*process ${process.pid} .*alive`));
      writeFileSync(`${file}.lock`, '99999999');
      expect(at('locks').stdout).toContain('stale: ignored');
      expect(at('doctor')).toMatchObject({ status: 1, stdout: expect.stringContaining('s1.jsonl.lock') });
      rmSync(file);
      const repaired = at('repair', 's1');
      expect(repaired).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('Copied 0 readable entries'),
      });
    } finally {
      rmSync(cut, { recursive: true });
    }
  });

  test('doctor says which transcripts cannot be written, and why', async () => {
    const linked = mkdtempSync(join(tmpdir(), 'reprise-linked-'));
    try {
      const file = join(linked, 'agents/main/sessions/s1.jsonl');
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      symlinkSync('/dev/null', file);
      await using store = await openStore({ kind: 'jsonl', home: linked });
      await store.create({ id: 's1', key: 'agent:main:main' });
      const { status, stdout } = spawnSync(process.execPath, [COMMAND, 'doctor', '--home', linked], {
        encoding: 'utf8',
      });
      expect(status).toBe(1);
      expect(stdout).toMatch(/warn transcripts: 1 cannot be written: s1: ELOOP/);
    } finally {
      rmSync(linked, { recursive: true });
    }
  });

  test('doctor reports the state of the home and what needs attention', () => {
    const { status, stdout } = reprise('doctor');
    expect(status).toBe(0);
    expect(stdout).toMatch(/ok {3}home: .*ok {3}quarantine: empty.*\d+ sessions/s);
    expect(stdout).toMatch(/disk: [\d,]+ MiB free; no turn starts below [\d,]+ MiB/);
  });

  test('an index that is damaged or lost leaves no gap in the list, and doctor reports what became of it', {
    timeout,
  }, () => {
    using copied = copyHome();
    const { run, place } = copied;
    const index = join(place, 'control.db');
    const bytes = readFileSync(index);
    writeFileSync(index, bytes.fill(0, 0, 4096));
    for (const what of ['damaged', 'lost']) {
      expect(run('ls').stdout, what).toMatch(/Fix the bike[\s\S]*Plan the trip/);
      const { status, stdout } = run('doctor');
      expect(status).toBe(1);
      expect(stdout).toMatch(/warn control\.db: damaged on 2\d{3}-.*; nothing is lost/);
      rmSync(index);
    }
    const folder = join(place, 'quarantine');
    const report = readdirSync(folder).find((name) => name.endsWith('.salvage.json')) ?? '';
    truncateSync(join(folder, report), 20);
    expect(run('doctor')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining(`${report} cannot be read`),
    });
  });

  test('a damaged transcript is named by doctor and ls when the index is lost', { timeout }, () => {
    using copied = copyHome();
    const { run, place } = copied;
    const file = join(place, 'agents/main/sessions/second.jsonl');
    writeFileSync(file, readFileSync(file).fill(0, 0, 1));
    rmSync(join(place, 'control.db'));
    expect(run('doctor')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('control.db is missing'),
    });
    expect(run('ls').stdout).toMatch(/second damaged$/m);
    expect(run('ls', '-l').stdout).toMatch(/second · agent:main:tg:direct:second · .* · damaged/);
    expect(run('doctor')).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/warn damage: 1 session damaged[\s\S]*reprise verify/),
    });
    const { status, stderr, stdout } = run('verify');
    expect([status, stdout + stderr]).toEqual([6, expect.stringContaining('second')]);
  });

  test('doctor shows an edited sessions.json, before and after it is moved aside, and how to read it', {
    timeout,
  }, () => {
    using copied = copyHome();
    const { run, place } = copied;
    const file = join(place, 'agents/main/sessions/sessions.json');
    expect(run('doctor').stdout).not.toContain('sessions.json');
    const edited = readFileSync(file, 'utf8').replace('Fix the bike', 'Fix the car');
    writeFileSync(file, edited);
    expect(run('doctor')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining(`warn sessions.json: ${file} has changes that Reprise did not make`),
    });
    const { stderr } = run('rename', 'second', 'Plan the journey');
    const aside = join(place, 'agents/main/sessions.json.edited.1');
    const command = ['import', aside];
    expect(stderr).toContain(`reprise import '${aside}'`);
    expect(readFileSync(aside, 'utf8')).toBe(edited);
    expect(run('doctor').stdout).toMatch(
      new RegExp(`warn sessions.json: ${aside} has changes.*\n.*reprise import '${aside}'`),
    );
    expect(run(...command, '--yes').status).toBe(0);
    // As the report says, an import renames no session that is here.
    expect(stderr).toContain('To rename one: reprise rename <ref> <label>.');
    expect(run('ls').stdout).not.toContain('Fix the car');
    rmSync(aside);
    expect(run('doctor').stdout).not.toContain('sessions.json');
  });

  test('a folder without a home is an error, not an empty list', () => {
    const { status, stderr } = spawnSync(process.execPath, [COMMAND, 'ls', '--home', join(home, 'nowhere')], {
      encoding: 'utf8',
    });
    expect(status).toBe(4);
    expect(stderr).toContain('REPRISE_HOME');
  });
});
