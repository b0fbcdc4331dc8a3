import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  COMMANDS,
  commandHelp,
  findCommand,
  parseCommand,
  type Surface,
  unknownCommandText,
} from '../../../src/engine/commands/commands.ts';

const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 1000);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7);
const SURFACES: readonly Surface[] = ['repl', 'web', 'http', 'channel'];
const NAMES = COMMANDS.flatMap(({ name, aliases }) => [name, ...aliases]);
const surface = fc.constantFrom(...SURFACES);
/** Mostly near what the parser looks at. */
const typed = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.constantFrom('/', ' ', '\n', '@', 'n', 'e', 'w', 'N', '-', '.', '\u00a0', 'é') }),
  fc
    .tuple(fc.constantFrom('', ' ', '/', '\u00a0'), fc.constantFrom(...NAMES), fc.string())
    .map(([before, name, after]) => `${before}/${name}${after}`),
);

describe('the table of commands', () => {
  test('has every command people were promised, each name once', () => {
    expect([...NAMES].sort()).toEqual(
      [
        ...['new', 'reset', 'clear', 'sessions', 'list', 'ls', 'switch', 'resume', 'history', 'tree', 'fork'],
        ...['branch', 'undo', 'redo', 'context', 'tokens', 'cost', 'compact', 'explain', 'retry', 'edit'],
        ...[
          'delete',
          'rename',
          'pin',
          'unpin',
          'repair',
          'search',
          'model',
          'queue',
          'stop',
          'status',
          'copy',
        ],
        ...['export', 'help', 'quit', 'exit'],
      ].sort(),
    );
  });

  test('never gives a channel what shows or touches other sessions', () => {
    const foreign = COMMANDS.filter(({ surfaces }) => surfaces.includes('channel'));
    expect(foreign.filter(({ scope }) => scope === 'owner')).toEqual([]);
    for (const name of ['sessions', 'switch', 'search', 'delete', 'export', 'fork', 'repair'])
      expect(findCommand(name)?.scope, name).toBe('owner');
  });

  test('says what can be typed on a surface, and nothing else', () => {
    const lines = commandHelp('channel').join('\n');
    expect(lines).toContain('/compact [focus] | --dry-run | undo');
    expect(lines).toContain('(also /tokens, /cost)');
    expect(lines).not.toMatch(/\/(sessions|switch|delete|search|export|quit)\b/);
    expect(commandHelp('repl').join('\n')).toMatch(/\/sessions \[filter\] +recent sessions/);
    expect(commandHelp('repl').filter((line) => line.endsWith(':'))).toHaveLength(5);
  });
});

describe('what a person typed', () => {
  test.each([
    ['/new my project', { name: 'new', args: 'my project' }],
    ['/RESET', { name: 'new', args: '' }],
    ['/Tokens  ', { name: 'context', args: '' }],
    ['/compact@reprise_bot the\nweather ', { name: 'compact', args: 'the\nweather' }],
    ['/new\nhello', { name: 'new', args: 'hello' }],
  ])('%j is a command', (text, command) => {
    for (const at of SURFACES) expect(parseCommand(text, { surface: at })).toEqual(command);
  });

  test.each([
    ['/contxt', 'context'],
    ['/swicth', 'switch'],
    ['/hist', 'history'],
    ['/qiut', 'quit'],
    ['/toke', 'context'],
    ['/nonsense', undefined],
    ['/new-session', undefined],
  ])('%s is unknown, and %s is what was meant', (text, suggestion) => {
    const parsed = parseCommand(text, { surface: 'repl' });
    expect(parsed).toEqual({ unknown: text.slice(1), ...(suggestion && { suggestion }) });
  });

  test('only what a surface offers is suggested', () => {
    expect(parseCommand('/session', { surface: 'repl' })).toMatchObject({ suggestion: 'sessions' });
    expect(parseCommand('/session', { surface: 'channel' })).toEqual({ unknown: 'session' });
    expect(unknownCommandText({ unknown: 'contxt', suggestion: 'context' })).toContain(
      'There is no command /contxt.\nDid you mean /context?',
    );
  });

  test.each(['/usr/bin/env does x', '/etc/hosts', '/new/thing', '/', '/ 2', '/)'])(
    '%s is text where people paste paths; on a command line it is not sent by accident',
    (text) => {
      for (const at of ['web', 'http', 'channel'] as const)
        expect(parseCommand(text, { surface: at })).toBeUndefined();
      expect(parseCommand(text, { surface: 'repl' })).toHaveProperty('unknown');
    },
  );

  test.each(['hello', ' /new', '\t/new', '\n/stop', 'say /new', '\u00a0/new', ''])(
    '%j is a message',
    (text) => {
      for (const at of SURFACES) expect(parseCommand(text, { surface: at })).toBeUndefined();
    },
  );

  test('any text is one of: a command of the table, an unknown one, or a message', () => {
    fc.assert(
      fc.property(typed, surface, (text, at) => {
        const parsed = parseCommand(text, { surface: at });
        if (parsed === undefined) expect(at === 'repl' && text.startsWith('/')).toBe(false);
        else if ('message' in parsed) expect(`/${parsed.message}`).toBe(text);
        else {
          expect(text.startsWith('/') && !text.startsWith('//')).toBe(true);
          if ('name' in parsed) expect(COMMANDS.map(({ name }) => name)).toContain(parsed.name);
          else expect(NAMES).not.toContain(parsed.unknown.toLowerCase());
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test('any message can be sent: with a slash in front of its own it arrives unchanged', () => {
    fc.assert(
      fc.property(typed, surface, (text, at) => {
        const said = text.startsWith('/') ? `/${text}` : text;
        const parsed = parseCommand(said, { surface: at });
        expect(parsed === undefined ? said : parsed).toEqual(text.startsWith('/') ? { message: text } : text);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});
