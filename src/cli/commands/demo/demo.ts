import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openStore } from '../../../config/open.ts';
import { openReprise } from '../../../config/open-reprise.ts';
import { conversationFolder } from '../../../engine/agents/workspaces.ts';
import { repairSession } from '../../../engine/history/repair.ts';
import type { Reprise } from '../../../engine/reprise.ts';
import type { Session } from '../../../engine/session.ts';
import { failure } from '../../../messages/failure.ts';
import {
  createScriptedModel,
  type ScriptedModel,
  type ScriptedStep,
} from '../../../models/scripted/scripted-model.ts';
import { resolveSessionTranscriptPath } from '../../../store/port/home-paths.ts';
import { type Options, textOption } from '../../options.ts';
import { asStarted } from '../../started-as.ts';
import { escapeForTerminal, print, say, style } from '../../terminal/print.ts';
import { shellWord } from '../../terminal/shell-word.ts';
import {
  BUG,
  CAR,
  CHINESE,
  type Exchange,
  FAMILY,
  HOUSE,
  HOUSE_AFTER,
  HOUSE_SUMMARY,
  ORDERS_BEFORE,
  ORDERS_FILE,
  RECIPES,
  TRAIN,
  TRIP,
} from './demo-script.ts';

interface Demo {
  readonly reprise: Reprise;
  readonly model: ScriptedModel;
}

/** `reprise demo`: the conversations are written, but every turn, tool call, compaction, undo and repair really happens. */
export async function demo(options: Options): Promise<void> {
  const home = await emptyHome(textOption(options['home']));
  const model = createScriptedModel([], { id: 'demo', provider: 'demo', contextWindow: 16_000 });
  const open = async (): Promise<Demo> => {
    const agents = { coder: { fileTools: true } };
    const compaction = { cut: { kind: 'keep-turns', turns: 2 } } as const;
    return { reprise: await openReprise({ home, model, agents, compaction }), model };
  };
  let damaged = '';
  {
    const shown = await open();
    await using _ = shown.reprise;
    damaged = await recipes(shown);
    await chinese(shown);
    await family(shown);
    await bug(shown, home);
    await house(shown);
  }
  await damageAndRepair(home, damaged);
  {
    const shown = await open();
    await using _ = shown.reprise;
    await trip(shown);
  }
  const at = `--home ${shellWord(home)}`;
  say(
    asStarted(`\nLook around:
  reprise ls ${at}
  reprise show 'Garden house' ${at}
  reprise explain 'Garden house' ${at}
  reprise serve ${at}    opens the same sessions in a browser
  reprise ${at}    continues "Trip to Lisbon"`),
  );
  print(home);
}

/** Never a home that is in use: a demo must not mix with real conversations. */
async function emptyHome(asked: string | undefined): Promise<string> {
  if (asked === undefined) return mkdtemp(join(tmpdir(), 'reprise-demo-'));
  const home = resolve(asked);
  if (existsSync(home) && readdirSync(home).length > 0) {
    throw failure('INVALID_INPUT', 'cli.homeNotEmpty', { home });
  }
  await mkdir(home, { recursive: true, mode: 0o700 });
  return home;
}

async function begin({ reprise }: Demo, key: string, label: string): Promise<Session> {
  say(`\n${style('bold', label)}`);
  const session = await reprise.session(key);
  await session.patch({ label });
  return session;
}

/** One exchange, stored and printed. */
async function talk({ model }: Demo, session: Session, [question, ...answer]: Exchange): Promise<void> {
  model.push(...answer.map(withUsage));
  say(`  > ${short(question)}`);
  const { text } = await session.send(question).result;
  say(`    ${short(text)}`);
}

/** Adds token counts to an answer, as a provider reports them, so that `stats` and `explain` have figures to show. */
function withUsage(step: ScriptedStep): ScriptedStep {
  if (typeof step === 'function' || step instanceof Error) return step;
  const answer = typeof step === 'string' ? { text: step } : step;
  return ({ messages }) => {
    const [input, output] = [tokensOf(messages), tokensOf(answer)];
    return { ...answer, usage: { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output } };
  };
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return escapeForTerminal(line.length > 100 ? `${line.slice(0, 100)}…` : line);
}

async function trip(shown: Demo): Promise<void> {
  const session = await begin(shown, 'agent:main:main', 'Trip to Lisbon');
  for (const exchange of [...TRIP, CAR]) await talk(shown, session, exchange);
  await session.undo();
  say('    undone: the last turn is a branch now, and the model no longer receives it');
  await talk(shown, session, TRAIN);
}

async function bug(shown: Demo, home: string): Promise<void> {
  const session = await begin(shown, 'agent:coder:session:orders', 'Orders counted twice');
  const workspace = conversationFolder(home, { agentId: 'coder', sessionKey: session.key });
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  await writeFile(join(workspace, ORDERS_FILE), ORDERS_BEFORE, { mode: 0o600 });
  for (const exchange of BUG) await talk(shown, session, exchange);
}

async function house(shown: Demo): Promise<void> {
  const session = await begin(shown, 'agent:main:session:garden-house', 'Garden house');
  for (const exchange of HOUSE) await talk(shown, session, exchange);
  shown.model.push(withUsage(HOUSE_SUMMARY));
  const done = await session.compact();
  if (done !== null)
    say(
      `    compacted: ~${done.tokensBefore} -> ~${done.tokensAfter} tokens; the original messages are kept`,
    );
  await talk(shown, session, HOUSE_AFTER);
}

async function chinese(shown: Demo): Promise<void> {
  const session = await begin(shown, 'agent:main:session:japanese', '学日语的计划');
  for (const exchange of CHINESE) await talk(shown, session, exchange);
}

async function family(shown: Demo): Promise<void> {
  const label = "Grandma's birthday";
  say(`\n${style('bold', label)}`);
  const group = { channel: 'telegram', peer: '-1001', peerKind: 'group', mentioned: true } as const;
  for (const [name, question, answer] of FAMILY) {
    shown.model.push(withUsage(answer));
    say(`  ${name} > ${short(question)}`);
    const sender = { id: name.toLowerCase(), name };
    const { inboxId, sessionId } = await shown.reprise.receive({
      ...group,
      ...{ sender, text: question, messageId: question },
    });
    const { text } = await shown.reprise.follow(inboxId).result;
    say(`    ${short(text)}`);
    await shown.reprise.store.patch(sessionId, { label });
  }
}

/** @returns the id of the session that is damaged later. */
async function recipes(shown: Demo): Promise<string> {
  const session = await begin(shown, 'agent:main:session:pancakes', 'Pancakes');
  for (const exchange of RECIPES) await talk(shown, session, exchange);
  return session.id;
}

/** Flips one bit in the middle of a transcript, as a failing disk does, and repairs the session. */
async function damageAndRepair(home: string, id: string): Promise<void> {
  const file = resolveSessionTranscriptPath({ home, sessionId: id });
  const bytes = readFileSync(file);
  const at = bytes.indexOf('batter');
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  say(`\n${style('bold', 'Pancakes: a damaged transcript')}`);
  say(`    one bit of the transcript file flipped, at byte ${at}, as a failing disk does`);
  await using store = await openStore({ kind: 'jsonl', home, signals: true });
  const { status, findings } = await store.verify(id);
  say(`    verify: ${status}, ${findings.map(({ kind, offset }) => `${kind} at byte ${offset}`).join(', ')}`);
  const { repaired, entries } = await repairSession(store, await store.get(id));
  await store.patch(repaired, { label: 'Pancakes (repaired)' });
  const { status: after } = await store.verify(repaired);
  say(
    `    repair: ${entries} entries copied into a new session, which is ${after}; lost: the question "And the batter?"; the damaged session is kept`,
  );
}
