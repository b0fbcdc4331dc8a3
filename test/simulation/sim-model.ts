import type { Tool } from '../../src/engine/tools/tool.ts';
import { Answer, type Model, type ModelEvent, type ModelRequest, RepriseError } from '../../src/index.ts';
import { complaintsOf } from '../support/engine.ts';
import type { Life } from './life.ts';
import { ANSWERED, readRequest } from './spoken.ts';
import type { World } from './world.ts';

/** Of all calls, so many fail: half of them at once, half in the middle of an answer. */
const FAILING = 0.03;

/**
 * A model that takes virtual time, does what the last message says (see spoken.ts), answers with the names of all
 * messages that had no answer yet, and looks at what it is sent as a provider would.
 */
export function createSimModel(life: Life, world: World): Model {
  const { scheduler, evidence } = world;
  const { random } = scheduler;
  const model: Model = {
    id: 'simulated',
    provider: 'simulated',
    api: 'simulated',
    target: { family: 'anthropic', provider: 'simulated', model: 'simulated' },
    contextWindow: 200_000,
    stream,
  };
  const busy = new Set<string>();

  async function* stream(
    request: ModelRequest,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<ModelEvent, void, undefined> {
    const sessionId = request.cacheKey ?? '';
    const { tokens, unanswered, plan, round } = readRequest(request);
    scheduler.note(`${life.name} asks ${world.name('s', sessionId)} ${unanswered.join(' ')} round ${round}`);
    world.mustHold(life, sessionId, 'a model call');
    if (busy.has(sessionId)) evidence.findings.push(`${life.name} asks twice at once for ${sessionId}`);
    const complaints = complaintsOf(request).map(({ message }) => message);
    evidence.requests.push({ sessionId, tokens, complaints });
    busy.add(sessionId);
    try {
      const isFailing = random.chance(FAILING);
      await world.sleep(random.skewed(5, 3000), life, signal);
      if (isFailing && random.chance(0.5)) throw new RepriseError('MODEL_FAILED', 'the provider is down');
      const answer = new Answer();
      const say = (event: ModelEvent): ModelEvent => {
        answer.take(event);
        return event;
      };
      yield say({ type: 'text_delta', block: 0, text: 'well, ' });
      await world.sleep(random.skewed(5, 1000), life, signal);
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
      busy.delete(sessionId);
    }
  }
  return model;
}

export function createSimTools(life: Life, world: World): Tool[] {
  const tool = (name: string, safe: boolean): Tool => ({
    name,
    description: `A tool that is ${safe ? '' : 'not '}safe to run twice.`,
    inputSchema: { type: 'object' },
    safe,
    async run(_, { toolCallId, sessionId, signal }) {
      world.mustHold(life, sessionId, `tool ${name}`);
      world.evidence.toolRuns.push({ id: toolCallId, name });
      await world.sleep(world.scheduler.random.skewed(1, 2000), life, signal);
      return `${name} ran`;
    },
  });
  return [tool('safe', true), tool('unsafe', false)];
}
