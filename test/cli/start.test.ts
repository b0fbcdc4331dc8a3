import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/cli/main.ts';
import { openStore } from '../../src/config/open.ts';
import { reprise } from '../support/command-line.ts';
import { writeSealedSession } from '../support/sealed-home.ts';

test('a command is the same whether it is made alone or with all others', () => {
  const all = createProgram().commands;
  const names = all.map((command) => command.name());
  for (const command of all) {
    const name = command.name();
    const some = createProgram(name);
    const same = some.commands.find((each) => each.name() === name);
    expect(same?.helpInformation(), name).toBe(command.helpInformation());
    // What completes words has to know all of them.
    const isWhole = ['completion', '__complete'].includes(name);
    expect(some.commands.length === names.length, name).toBe(isWhole);
  }
  expect(createProgram('no-such-command').commands.map((command) => command.name())).toEqual(names);
});

test('ls lists a transcript that was put into the home, and goes on answering by a look', {
  timeout: 180_000,
}, async () => {
  const home = mkdtempSync(join(tmpdir(), 'reprise-start-'));
  {
    await using store = await openStore({ home });
    await store.create({ id: 'own', key: 'agent:main:main' });
  }
  const listed = (): string[] => {
    const { stdout, stderr } = reprise(['ls', '--json', '--home', home]);
    expect(stderr).toBe('');
    return (JSON.parse(stdout) as { data: { id: string }[] }).data.map(({ id }) => id).sort();
  };
  expect(listed()).toEqual(['own']);
  writeSealedSession(home, { id: 'brought', messages: 2 });
  expect(listed()).toEqual(['brought', 'own']);
  expect(listed()).toEqual(['brought', 'own']);
  rmSync(home, { recursive: true });
});
