import type { Tool } from '../../src/engine/tools/tool.ts';
import { Answer, type ModelEvent, type ModelRequest } from '../../src/exports/models.ts';
import { type Model, RepriseError } from '../../src/index.ts';
import type { Random } from '../../testing/crash/random.ts';
import { complaintsOf } from '../support/engine/engine.ts';
import type { SeenRequest, ToolRun } from './judge.ts';
import { ANSWERED, readRequest } from './spoken.ts';

/** What a model and its tools need of where they are: a simulation, or a process that will be killed. */
export interface Stage {
  readonly random: Random;
  /** The longest wait, in milliseconds of whatever time it is. */
  readonly patience: number;
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
  /** Answers with what is to be called when the model is done with it. */
  onRequest(request: SeenRequest): () => void;
  onTool(run: ToolRun): void;
}

/** Of all calls, so many fail: half of them at once, half in the middle of an answer. */
const FAILING = 0.03;

/**
 * Does what the last message says (see spoken.ts), answers with the names of all messages that had no answer yet,
 * and looks at what it is sent as a provider would.
 */
export function createSimModel(stage: Stage): Model {
  const { random, patience } = stage;
  const model: Model = {
    id: 'simulated',
    provider: 'simulated',
    api: 'simulated',
    target: { family: 'anthropic', provider: 'simulated', model: 'simulated' },
    contextWindow: 200_000,
    stream,
  };

  async function* stream(
    request: ModelRequest,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<ModelEvent, void, undefined> {
    const { tokens, unanswered, plan, round } = readRequest(request);
    const complaints = complaintsOf(request).map(({ message }) => message);
    const over = stage.onRequest({
      sessionId: request.cacheKey ?? '',
      tokens,
      unanswered,
      round,
      complaints,
    });
    try {
      const isFailing = random.chance(FAILING);
      await stage.sleep(random.skewed(1, patience), signal);
      if (isFailing && random.chance(0.5)) throw new RepriseError('MODEL_FAILED', 'the provider is down');
      const answer = new Answer();
      const say = (event: ModelEvent): ModelEvent => {
        answer.take(event);
        return event;
      };
      yield say({ type: 'text_delta', block: 0, text: 'well, ' });
      await stage.sleep(random.skewed(1, patience / 3), signal);
      if (isFailing) throw new RepriseError('MODEL_FAILED', 'the line was cut');
      const tools = plan[round] ?? [];
      for (const [i, name] of tools.entries()) {
        const id = `call_${unanswered.at(-1)?.replace('@', '_') ?? 'none'}_${round}_${i}`;
        yield say({ type: 'tool_call', block: i + 1, id, name, input: {} });
      }
      if (tools.length === 0)
        yield say({ type: 'text_delta', block: 0, text: `${ANSWERED} ${unanswered.join(' ')}` });
      yield answer.finish(model, { stopReason: tools.length > 0 ? 'toolUse' : 'stop' });
    } finally {
      over();
    }
  }
  return model;
}

export function createSimTools(stage: Stage): Tool[] {
  const tool = (name: string, safe: boolean): Tool => ({
    name,
    description: `A tool that is ${safe ? '' : 'not '}safe to run twice.`,
    inputSchema: { type: 'object' },
    safe,
    async run(_, { toolCallId: id, session, signal }) {
      stage.onTool({ id, name, sessionId: session.id });
      await stage.sleep(stage.random.skewed(1, stage.patience), signal);
      return `${name} ran`;
    },
  });
  return [tool('safe', true), tool('unsafe', false)];
}
