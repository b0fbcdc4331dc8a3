import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import type { ModelBook } from '../../config/model-book.ts';
import { modelBookFor } from '../../config/model-book-for.ts';
import { openConfigured } from '../../config/open-configured.ts';
import type { Reprise } from '../../engine/reprise.ts';
import { ModelFlag } from '../model-flag.ts';
import { type Options, textOption, withProfile } from '../options.ts';
import { isInteractive } from '../terminal/ask.ts';
import { pickSession } from '../terminal/pick.ts';
import { escapeForTerminal, say } from '../terminal/print.ts';
import { ChatLoop } from './chat-loop.ts';
import {
  checkAgent,
  checkChoice,
  choiceOf,
  chooseChat,
  chooseOneShot,
  type SessionChoice,
} from './choose-session.ts';
import { completions } from './completions.ts';
import { InputHistory } from './input-history.ts';
import { PipedLines } from './line-source.ts';
import { checkOneShot, oneShot, promptText } from './one-shot.ts';
import { firstLines, laterLines } from './opening-lines.ts';
import { Repl } from './repl.ts';
import { TerminalLines } from './terminal-lines.ts';
import { wrapFor } from './wrap-text.ts';

/** Opens a chat that resumes the last session, or asks a single question with `-p`. */
export async function chat(options: Options = {}): Promise<void> {
  const choice = choiceOf(options);
  checkChoice(choice);
  const isOneShot = options['prompt'] !== undefined;
  checkOneShot(options);
  // Check the question before anything is opened or created, so that an invalid one leaves no session.
  const text = isOneShot ? await promptText(textOption(options['prompt']), process.stdin) : '';
  // An ephemeral chat uses a memory store, whichever store the home has.
  const flags = options['ephemeral'] === true ? { ...options, store: 'memory' } : options;
  const loaded = await withProfile(await loadConfig({ flags }), options);
  for (const warning of loaded.warnings) say(escapeForTerminal(warning));
  const { config } = loaded;
  const models = modelBookFor(config);
  const modelFlag = new ModelFlag(loaded);
  await using reprise = await openConfigured(config, {
    ...{ run: false, signals: true, models },
    onWarning: (warning) => say(escapeForTerminal(warning)),
    modelWins: (record) => modelFlag.wins(record),
  });
  await checkAgent(reprise.store, choice.agent, Object.keys(config.agents));
  if (isOneShot) {
    const { session, isNew } = await chooseOneShot(reprise, choice, pickSession);
    const system = textOption(options['system']);
    if (system !== undefined) await session.patch({ systemPrompt: system });
    modelFlag.open(session.id);
    const discard = isNew ? () => reprise.store.delete(session.id) : undefined;
    const output = {
      json: options['json'] === true,
      stream: options['stream'] === true,
      plain: options['plain'] === true,
    };
    await oneShot(session, text, { ...output, discard });
  } else {
    const question = textOption(options['question']);
    const system = textOption(options['system']);
    const isPlain = options['plain'] === true || process.stdout.isTTY !== true;
    await talk(reprise, loaded, { choice, models, modelFlag, isPlain, question, system });
  }
}

interface TalkOptions {
  readonly choice: SessionChoice;
  readonly models: ModelBook;
  readonly modelFlag: ModelFlag;
  readonly isPlain: boolean;
  /** The first message, from the command line. */
  readonly question: string | undefined;
  /** The system prompt of the session. */
  readonly system: string | undefined;
}

async function talk(
  reprise: Reprise,
  loaded: LoadedConfig,
  { choice, models, modelFlag, isPlain, question, system }: TalkOptions,
): Promise<void> {
  const { home, store } = loaded.config;
  const isKept = store.kind !== 'memory';
  const isFirst = (await reprise.sessions({ limit: 1, status: 'any' })).sessions.length === 0;
  const session = await chooseChat(reprise, choice, pickSession);
  if (system !== undefined) await session.patch({ systemPrompt: system });
  const lines = isFirst ? await firstLines(loaded, { isKept }) : laterLines(loaded, await session.record());
  for (const line of lines) say(wrapFor(process.stderr, escapeForTerminal(line)));

  const { stdin: input, stderr: output } = process;
  const isLive = isInteractive();
  const repl: Repl = new Repl({
    ...{ reprise, models, modelFlag, isLive, isPlain, config: loaded.config },
    confirm: (question) => source.confirm(question),
    typed: () => (source instanceof TerminalLines ? source.typed : ''),
    restore: (message) => {
      if (source instanceof TerminalLines) source.restore(message);
    },
  });
  const loop = new ChatLoop(repl);
  await repl.enter(session);
  await repl.showLast();
  const source = isLive
    ? new TerminalLines({
        input,
        output,
        history: new InputHistory(isKept ? home : undefined),
        complete: (line) => completions(line, reprise.store),
        onMeanwhile: (message) => repl.meanwhile(message),
        onInterrupt: loop.interrupt,
        onTyped: repl.refresh,
        onWithdraw: () => repl.withdraw(),
      })
    : new PipedLines(input);
  await loop.run(source, question);
}
