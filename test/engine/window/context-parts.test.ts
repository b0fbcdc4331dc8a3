import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PROFILES } from '../../../src/engine/agents/profiles.ts';
import { contextMessages } from '../../../src/engine/commands/context.ts';
import { makeView } from '../../../src/engine/turn/turn-context.ts';
import { messagesText } from '../../../src/messages/english.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { openEngine, say } from '../../support/engine/engine.ts';
import { EntryList } from '../../support/engine/entries.ts';

const model = createScriptedModel([], { contextWindow: 200_000 });
const NAMES = { provider: model.provider, model: model.id };

const words = fc.nat({ max: 400 }).map((n) => 'word '.repeat(n + 1));
const turn = fc.record({
  user: words,
  answer: words,
  usage: fc.option(fc.record({ input: fc.nat(300_000), cacheRead: fc.nat(9000), output: fc.nat(9000) })),
});

test('the parts of a context add up to its total, whatever a provider reported', () => {
  fc.assert(
    fc.property(
      fc.array(turn, { maxLength: 4 }),
      fc.record({
        factor: fc.double({ min: 0.5, max: 3, noNaN: true }),
        overhead: fc.nat(30_000),
        samples: fc.nat(9),
      }),
      words,
      fc.boolean(),
      (turns, calibration, system, isNew) => {
        const list = new EntryList();
        for (const { user, answer, usage } of turns) {
          list.user(user);
          list.assistant([answer], { ...NAMES, ...(usage !== null && { usage }) });
        }
        if (isNew) list.user('and then?');
        const frame = {
          model,
          system,
          tools: [],
          maxOutputTokens: 4000,
          profile: PROFILES.native,
          calibration,
        };
        const { split, tokens } = makeView(list.entries, frame);
        const parts = Object.values(split);
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(tokens);
        expect(parts.every((part) => Number.isInteger(part) && part >= 0)).toBe(true);
      },
    ),
  );
});

test.each(['native', 'claw0'] as const)('what /context prints adds up under profile %s', async (profile) => {
  // A provider that counts 1,800 tokens more than it was sent, in every request.
  const usage = ({ messages }: { readonly messages: readonly unknown[] }) => ({
    text: 'yes',
    usage: { input: 1800 + 40 * messages.length, output: 1 },
  });
  const asked = createScriptedModel(Array(9).fill(usage), { contextWindow: 200_000 });
  await using at = await openEngine(asked, {
    profile,
    agents: { main: { systemPrompt: 'Be kind. '.repeat(99) } },
  });
  for (let i = 0; i < 4; i++) await say(at.session, `question ${i}: ${'why '.repeat(60)}`);
  const report = await at.session.context();
  const shown = messagesText(contextMessages(report));
  const total = Number(/~([\d,]+) /.exec(shown)?.[1]?.replaceAll(',', ''));
  const rows = [...shown.matchAll(/^ {2}(\w[\w ]*?) {2,}([\d,]+) +[\d.]+%$/gm)];
  const sumOf = (parts: readonly (readonly string[])[]): number =>
    parts.reduce((all, [, , tokens = '']) => all + Number(tokens.replaceAll(',', '')), 0);
  const used = rows.filter(([, name = '']) => !/^(?:free|reserved for the answer)$/.test(name));
  // Used parts and the margin are the total; with what is free and reserved they are the window.
  expect([sumOf(used), sumOf(rows), rows.length >= 5]).toEqual([total, report.window.tokens, true]);
});
