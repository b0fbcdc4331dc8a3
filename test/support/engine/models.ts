import {
  Answer,
  type FinishEvent,
  type ModelEvent,
  type ModelRequest,
  type ModelTool,
} from '../../../src/exports/models.ts';
import { type ProjectedMessage, project } from '../../../src/exports/transcript.ts';
import { type Entry, type Model, RepriseError } from '../../../src/index.ts';

export const READ_FILE: ModelTool = {
  name: 'read_file',
  description: 'Reads a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};

export function user(text: string): ProjectedMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}

export function assistant(text: string): ProjectedMessage {
  return { role: 'assistant', content: [{ type: 'text', text }] };
}

/** A user who says one thing, or a conversation of texts in turn, user first. */
export function asking(...texts: readonly string[]): ModelRequest {
  return { messages: texts.map((text, i) => (i % 2 === 0 ? user(text) : assistant(text))) };
}

export function requestFor(model: Model, entries: readonly Entry[]): ModelRequest {
  return { messages: project(entries, { target: model.target }).messages };
}

/** How a stream went: every event, and how it ended. */
export interface Run {
  readonly events: readonly ModelEvent[];
  readonly answer: Answer;
  readonly finish: FinishEvent | undefined;
  readonly error: RepriseError | undefined;
}

export async function run(
  model: Model,
  request: ModelRequest,
  { signal, on }: { signal?: AbortSignal; on?: (event: ModelEvent) => unknown } = {},
): Promise<Run> {
  const events: ModelEvent[] = [];
  const answer = new Answer();
  let error: RepriseError | undefined;
  try {
    for await (const event of model.stream(request, signal === undefined ? {} : { signal })) {
      events.push(event);
      answer.take(event);
      on?.(event);
    }
  } catch (reason) {
    if (!(reason instanceof RepriseError)) throw reason;
    error = reason;
  }
  const last = events.at(-1);
  return { events, answer, finish: last?.type === 'finish' ? last : undefined, error };
}

/** The text of an answer that ended well. */
export async function textOf(model: Model, request: ModelRequest): Promise<string> {
  const { finish, answer, error } = await run(model, request);
  if (finish === undefined) throw error ?? new Error('no finish');
  return answer.text;
}
