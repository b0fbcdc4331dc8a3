import type { Context } from 'hono';
import { keyedId } from '../../engine/intake/keyed-id.ts';
import type { Keyed } from '../../engine/intake/keyed-request.ts';
import { type CommandBody, commandAnswer, commandBody } from '../../protocol/commands.ts';
import { type SessionParams, sessionParams } from '../../protocol/ids.ts';
import { sessionAnswerSchema, sessionView } from '../../protocol/sessions.ts';
import {
  branchBody,
  compactAnswer,
  compactBody,
  forkBody,
  NO_BODY,
  pinBody,
  pinsAnswer,
  redoAnswer,
  undoAnswer,
  undoBody,
} from '../../protocol/steps.ts';
import type { ServerApp, ServerContext, ServerEnv } from '../context.ts';
import { findSession, type Session } from '../find-session.ts';
import { addOperation, type Operation } from '../operation.ts';
import { runHttpCommand } from '../run-command.ts';
import { SESSION_PATHS } from '../security/access.ts';

type Answer = Operation<unknown, unknown, unknown>['answer'];

/** Routes that change a session; each change is visible in the transcript and can be undone. */
export function registerSessionSteps(app: ServerApp, context: ServerContext): void {
  const step = <B>(
    name: string,
    summary: string,
    body: Operation<SessionParams, unknown, B>['body'],
    answer: Answer,
    work: (session: Session, body: B, c: Context<ServerEnv>) => Promise<unknown>,
    needsBody = false,
  ): void =>
    addOperation<SessionParams, unknown, B>(app, {
      method: 'post',
      paths: SESSION_PATHS.map((path) => `${path}/${name}`),
      id: `${name}Session`,
      tag: 'steps',
      summary,
      params: sessionParams,
      ...(body !== undefined && { body }),
      needsBody,
      answer,
      run: async ({ params, body: given, c }) => {
        const told = await work(await findSession(context, params), given, c);
        return c.json(told as object, (answer.status ?? 200) as 200);
      },
    });
  const afterStep = async (session: Session, taken: object): Promise<object> => ({
    ...taken,
    session: sessionView(await session.record()),
  });

  step(
    'compact',
    'Compact older messages, or return the plan',
    compactBody,
    { schema: compactAnswer, description: 'What was done; null: nothing was to gain' },
    async (session, { focus, dryRun }, c) => {
      if (dryRun === true) return { preview: await session.previewCompaction() };
      const done = await session.compact({ ...(focus !== undefined && { focus }), ...keyOf(c) });
      if (done === null) return { compaction: null };
      const { type: _type, ...compaction } = done;
      return { compaction };
    },
  );
  step(
    'fork',
    'A new session that begins as this one did',
    forkBody,
    { status: 201, schema: sessionAnswerSchema, description: 'The new session' },
    async (session, { at }, c) => {
      const id = keyedId('fork', session.id, c.get('idempotencyKey'));
      const made = await session.fork({ ...(at !== undefined && { at }), id });
      return { session: sessionView(made) };
    },
  );
  step(
    'branch',
    'Continue from another message of the tree; redo returns',
    branchBody,
    { schema: sessionAnswerSchema, description: 'The session as it is now' },
    async (session, { entryId, place }, c) => {
      await session.branch(entryId, { ...(place !== undefined && { place }), ...keyOf(c) });
      return afterStep(session, {});
    },
    true,
  );
  step(
    'undo',
    'Undo the last turn, compaction or reset',
    undoBody,
    { schema: undoAnswer, description: 'What was undone; null if there was nothing to undo' },
    async (session, { anyway = false }, c) => afterStep(session, await session.undo({ anyway, ...keyOf(c) })),
  );
  step(
    'redo',
    'Brings back what undo took',
    NO_BODY,
    { schema: redoAnswer, description: 'What came back; null: nothing' },
    async (session, _body, c) => {
      const { undone: redone, ...rest } = await session.redo(keyOf(c));
      return afterStep(session, { redone, ...rest });
    },
  );
  const pins = { schema: pinsAnswer, description: 'What is pinned now' };
  type PinWork = (
    session: Session,
    body: { readonly entryId: string },
    c: Context<ServerEnv>,
  ) => Promise<object>;
  const pin: PinWork = async (session, { entryId }, c) => ({ pins: await session.pin(entryId, keyOf(c)) });
  const unpin: PinWork = async (session, { entryId }, c) => ({
    pins: await session.unpin(entryId, keyOf(c)),
  });
  step('pin', 'Keeps the text of an entry in every context, word for word', pinBody, pins, pin, true);
  step('unpin', 'Lets go of a pinned entry', pinBody, pins, unpin, true);
  step<CommandBody>(
    'command',
    'Runs a command as it is typed in a chat; GET /api/commands lists them',
    commandBody,
    { schema: commandAnswer, description: 'Its answer, as text for a person' },
    (session, body, c) => runHttpCommand(context, session, body, c),
    true,
  );
}

/** The idempotency key, also a generated one: the answer contains it, so the client can repeat the request with it. */
function keyOf(c: Context<ServerEnv>): Keyed {
  return { idempotencyKey: c.get('idempotencyKey'), isFresh: !c.get('hasOwnKey') };
}
