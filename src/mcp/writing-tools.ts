import { readHistory } from '../engine/history/read-history.ts';
import type { Reprise } from '../engine/reprise.ts';
import { wrongValue } from '../engine/settings-patch.ts';
import { entryAt } from '../transcript/message-position.ts';
import type { McpTool } from './mcp-tool.ts';
import type { VisibleSessions } from './session-scope.ts';

const SESSION = {
  type: 'string',
  description: 'Id, key, label or title of a session, or the unique start of one.',
};
const WAIT_SECONDS = 120;
const MAX_WAIT_SECONDS = 3600;

/** Tools that change sessions, for a server that was started with --write. */
export function writingTools(reprise: Reprise, sessions: VisibleSessions): McpTool[] {
  return [
    {
      name: 'session_annotate',
      description: 'Sets the title or the label of a session, or puts a note on one of its messages.',
      properties: {
        session: SESSION,
        title: { type: 'string' },
        label: { type: 'string', description: 'A short name that identifies the session.' },
        note: { type: 'string', description: 'With `position`: a note on this message.' },
        position: { type: 'integer', minimum: 1, description: 'Position of the message, as in search hits.' },
      },
      required: ['session'],
      isWriting: true,
      run: async ({ session: ref, title, label, note, position }) => {
        const { id } = await sessions.find(ref);
        if (title === undefined && label === undefined && note === undefined)
          throw wrongValue('title', title, [{ is: 'nonEmptyText' }]);
        if (note !== undefined) {
          if (typeof note !== 'string' || note.trim() === '')
            throw wrongValue('note', note, [{ is: 'nonEmptyText' }]);
          const target = entryAt(await readHistory(reprise.store, id), Number(position));
          await reprise.store.append(id, [{ type: 'label', targetId: target.id, label: note }]);
        }
        const session = await reprise.session({ id });
        const patch = { ...(title !== undefined && { title }), ...(label !== undefined && { label }) };
        if (Object.keys(patch).length > 0) await session.patch(patch);
        return { session: id, status: 'annotated' };
      },
    },
    {
      name: 'session_send',
      description: 'Sends a message to a session as its user, and waits for the answer.',
      properties: {
        session: SESSION,
        message: { type: 'string' },
        timeoutSeconds: {
          type: 'integer',
          minimum: 0,
          maximum: MAX_WAIT_SECONDS,
          description: `How long to wait for the answer; ${WAIT_SECONDS} by default. The turn continues afterwards.`,
        },
      },
      required: ['session', 'message'],
      isWriting: true,
      run: async ({ session: ref, message, timeoutSeconds = WAIT_SECONDS }, signal) => {
        if (typeof message !== 'string' || message.trim() === '')
          throw wrongValue('message', message, [{ is: 'nonEmptyText' }]);
        const { id } = await sessions.find(ref);
        const turn = (await reprise.session({ id })).send(message, { source: 'mcp' });
        const { inboxId } = await turn.accepted;
        const wait = AbortSignal.any([signal, AbortSignal.timeout(Number(timeoutSeconds) * 1000)]);
        const end = await reprise.ended(inboxId, { signal: wait }).catch((error: unknown) => {
          if (wait.aborted) return undefined;
          throw error;
        });
        if (end === undefined) return { session: id, inboxId, status: 'accepted' };
        return end.type === 'done'
          ? { session: id, inboxId, status: 'answered', text: end.text }
          : { session: id, inboxId, status: 'failed', code: end.code, text: end.message };
      },
    },
    {
      name: 'session_spawn',
      description:
        'Gives a task to a new subagent of a session. The result arrives later, as a message in that session.',
      properties: {
        session: SESSION,
        task: { type: 'string', description: 'All it needs to know: it sees nothing of the conversation.' },
        label: { type: 'string' },
        agentId: { type: 'string' },
      },
      required: ['session', 'task'],
      isWriting: true,
      run: async ({ session: ref, task, label, agentId }) => {
        if (typeof task !== 'string' || task.trim() === '')
          throw wrongValue('task', task, [{ is: 'nonEmptyText' }]);
        const { id } = await sessions.find(ref);
        const { why: _, ...result } = await reprise.spawn(
          { id },
          {
            task,
            ...(typeof label === 'string' && { label }),
            ...(typeof agentId === 'string' && { agentId }),
          },
        );
        return { session: id, ...result };
      },
    },
  ];
}
