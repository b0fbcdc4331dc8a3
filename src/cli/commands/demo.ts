import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openStore } from '../../config/open.ts';
import { openReprise } from '../../config/open-reprise.ts';
import { repairSession } from '../../engine/repair.ts';
import type { Reprise } from '../../engine/reprise.ts';
import type { Session } from '../../engine/session.ts';
import { conversationFolder } from '../../engine/workspaces.ts';
import { RepriseError } from '../../errors.ts';
import { type Options, textOption } from '../options.ts';
import { escapeForTerminal, print, say, style } from '../print.ts';
import { shellWord } from '../shell-word.ts';
import { asStarted } from '../started-as.ts';

const NOTES = 'Tomatoes: along the south wall.\nBeans: wherever the tomatoes were last year.\n';
/** Long enough that summing it up gains something. */
const REPORTS = 24;
const REPORT_WORDS = 900;

/** `reprise demo`: everything in it was said by real turns of the offline model, and the damage is real too. */
export async function demo(options: Options): Promise<void> {
  const home = await emptyHome(textOption(options['home']));
  let healed = '';
  {
    await using reprise = await openReprise({
      home,
      model: 'offline',
      agents: { main: { fileTools: true } },
    });
    await remembers(reprise);
    await usesTools(reprise, home);
    await compacts(reprise);
    await takesBack(reprise);
    await listens(reprise);
    healed = await willBeHurt(reprise);
  }
  await heals(home, healed);
  const at = `--home ${shellWord(home)}`;
  say(
    asStarted(`\nLook around:
  reprise ls ${at}
  reprise show 'It uses tools' ${at}
  reprise explain @last ${at}
  reprise ${at}    continues the chat`),
  );
  print(home);
}

/** Never a home that is in use: a demo must not mix with what somebody said. */
async function emptyHome(asked: string | undefined): Promise<string> {
  if (asked === undefined) return mkdtemp(join(tmpdir(), 'reprise-demo-'));
  const home = resolve(asked);
  if (existsSync(home) && readdirSync(home).length > 0) {
    throw new RepriseError('INVALID_INPUT', `${home} is not empty`, {
      details: { next: 'Name a new folder with --home, or leave it out for one that is made for it.' },
    });
  }
  await mkdir(home, { recursive: true, mode: 0o700 });
  return home;
}

function title(name: string): void {
  say(`\n${style('bold', name)}`);
}

async function begin(reprise: Reprise, id: string, label: string): Promise<Session> {
  title(label);
  const session = await reprise.session(`agent:main:session:${id}`);
  await session.patch({ label });
  return session;
}

/** One exchange, on the screen and on record. */
async function talk(session: Session, text: string): Promise<void> {
  say(`  > ${text}`);
  const { text: answer } = await session.send(text).result;
  say(`    ${escapeForTerminal(answer.replace(/\s+/g, ' ').slice(0, 100))}`);
}

async function remembers(reprise: Reprise): Promise<void> {
  title('It remembers');
  const session = await reprise.session('agent:main:main');
  await session.patch({ label: 'It remembers' });
  for (const text of ['my name is Ada', 'my city is Turin', 'what is my name?']) await talk(session, text);
}

async function usesTools(reprise: Reprise, home: string): Promise<void> {
  const session = await begin(reprise, 'tools', 'It uses tools');
  const workspace = conversationFolder(home, { agentId: 'main', sessionKey: session.key });
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  await writeFile(join(workspace, 'notes.txt'), NOTES, { mode: 0o600 });
  await talk(session, 'read the file notes.txt');
}

async function compacts(reprise: Reprise): Promise<void> {
  const session = await begin(reprise, 'compacted', 'It stays inside the window');
  await talk(session, 'my boat is the Halcyon');
  for (let i = 1; i <= REPORTS; i++) {
    const report = Array.from({ length: REPORT_WORDS }, (_, n) => `reading ${i}.${n}`).join(' ');
    await session.send(`Report ${i}: ${report}`).result;
  }
  say(`  > … ${REPORTS} long reports`);
  const done = await session.compact({ focus: 'names' });
  if (done !== null)
    say(`    summed up: ~${done.tokensBefore} -> ~${done.tokensAfter} tokens; every original is kept`);
  await talk(session, 'what is my boat?');
}

async function takesBack(reprise: Reprise): Promise<void> {
  const session = await begin(reprise, 'undone', 'It takes things back');
  await talk(session, 'my password is swordfish');
  await session.undo();
  say('    taken back: the turn is a branch now, and no model is told of it');
  await talk(session, 'what is my password?');
}

async function listens(reprise: Reprise): Promise<void> {
  title('It listens on channels');
  const group = { channel: 'telegram', peer: '-1001', peerKind: 'group', mentioned: true } as const;
  for (const [name, text] of [
    ['Ada', 'our meeting is on Friday'],
    ['Ben', 'what is our meeting?'],
  ] as const) {
    say(`  ${name} > ${text}`);
    const sender = { id: name.toLowerCase(), name };
    const { inboxId, sessionId } = await reprise.receive({ ...group, sender, text, messageId: text });
    const { text: answer } = await reprise.follow(inboxId).result;
    say(`    ${escapeForTerminal(answer.replace(/\s+/g, ' ').slice(0, 100))}`);
    await reprise.store.patch(sessionId, { label: 'It listens on channels' });
  }
}

async function willBeHurt(reprise: Reprise): Promise<string> {
  const session = await begin(reprise, 'healed', 'It heals');
  for (const text of ['the first pancake always fails', 'the second one is better', 'the third one is eaten'])
    await talk(session, text);
  return session.id;
}

/** The damage a disk does: one bit of a byte in the middle. */
async function heals(home: string, id: string): Promise<void> {
  const file = join(home, 'agents', 'main', 'sessions', `${id}.jsonl`);
  const bytes = readFileSync(file);
  const at = bytes.indexOf('second');
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  say(`    one bit of its transcript is flipped, at byte ${at}`);
  await using store = await openStore({ kind: 'jsonl', home, signals: true });
  const { status, findings } = await store.verify(id);
  say(`    verify: ${status}, ${findings.map(({ kind, offset }) => `${kind} at byte ${offset}`).join(', ')}`);
  const { repaired, entries } = await repairSession(store, await store.get(id));
  await store.patch(repaired, { label: 'It healed' });
  const { status: after } = await store.verify(repaired);
  say(`    repair: ${entries} entries go on in a new session, which is ${after}; the damaged one is kept`);
}
