import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import type { ModelBook } from '../../config/model-book.ts';
import { modelBookFor } from '../../config/model-book-for.ts';
import { openConfigured } from '../../config/open-configured.ts';
import type { Config } from '../../config/schema.ts';
import type { Reprise } from '../../engine/reprise.ts';
import { isInteractive } from '../ask.ts';
import { type Options, textOption } from '../options.ts';
import { pickSession } from '../pick.ts';
import { escapeForTerminal, say } from '../print.ts';
import { ChatLoop } from '../repl/chat-loop.ts';
import {
  checkAgent,
  checkChoice,
  choiceOf,
  chooseChat,
  chooseOneShot,
  type SessionChoice,
} from '../repl/choose-session.ts';
import { completions } from '../repl/completions.ts';
import { InputHistory } from '../repl/input-history.ts';
import { PipedLines } from '../repl/line-source.ts';
import { checkOneShot, oneShot, promptText } from '../repl/one-shot.ts';
import { firstLines, laterLines } from '../repl/opening-lines.ts';
import { Repl } from '../repl/repl.ts';
import { TerminalLines } from '../repl/terminal-lines.ts';
import { wrapFor } from '../repl/wrap-text.ts';

/** A chat that goes on where it stopped, or with `-p` a single question. */
export async function chat(options: Options = {}): Promise<void> {
  const choice = choiceOf(options);
  checkChoice(choice);
  const isOneShot = options['prompt'] !== undefined;
  checkOneShot(options);
  // Before anything is opened or made: a question that is none leaves no trace.
  const text = isOneShot ? await promptText(textOption(options['prompt']), process.stdin) : '';
  // What is not kept is in no store of the home, whichever it holds.
  const flags = options['ephemeral'] === true ? { ...options, store: 'memory' } : options;
  const loaded = withProfile(await loadConfig({ flags }), options);
  for (const warning of loaded.warnings) say(escapeForTerminal(warning));
  const { config } = loaded;
  const models = modelBookFor(config);
  await using reprise = await openConfigured(config, { run: false, signals: true, models });
  await checkAgent(reprise.store, choice.agent, Object.keys(config.agents));
  if (isOneShot) {
    const session = await chooseOneShot(reprise, choice, pickSession);
    const { model } = (await session.record()).settings;
    if (typeof model === 'string') await models.load(model);
    await oneShot(session, text, { json: options['json'] === true, stream: options['stream'] === true });
  } else await talk(reprise, loaded, { choice, models });
}

async function talk(
  reprise: Reprise,
  loaded: LoadedConfig,
  { choice, models }: { readonly choice: SessionChoice; readonly models: ModelBook },
): Promise<void> {
  const { home, store } = loaded.config;
  const isKept = store.kind !== 'memory';
  const isFirst = (await reprise.sessions({ limit: 1, status: 'any' })).sessions.length === 0;
  const session = await chooseChat(reprise, choice, pickSession);
  const lines = isFirst ? await firstLines(loaded, { isKept }) : laterLines(loaded, await session.record());
  for (const line of lines) say(wrapFor(process.stderr, escapeForTerminal(line)));

  const { stdin: input, stderr: output } = process;
  const isLive = isInteractive();
  const repl: Repl = new Repl({ reprise, models, isLive, confirm: (question) => source.confirm(question) });
  const loop = new ChatLoop(repl);
  await repl.enter(session);
  const source = isLive
    ? new TerminalLines({
        input,
        output,
        history: new InputHistory(isKept ? home : undefined),
        complete: (line) => completions(line, reprise.store),
        onMeanwhile: (message) => repl.meanwhile(message),
        onInterrupt: loop.interrupt,
      })
    : new PipedLines(input);
  await loop.run(source);
}

function withProfile(loaded: LoadedConfig, { profile }: Options): LoadedConfig {
  if (typeof profile !== 'string') return loaded;
  // The engine refuses a name that is none, with those there are.
  return { ...loaded, config: { ...loaded.config, profile: profile as NonNullable<Config['profile']> } };
}
