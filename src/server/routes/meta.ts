import { COMMANDS } from '../../engine/commands/commands.ts';
import { failure } from '../../messages/failure.ts';
import { commandList } from '../../protocol/commands.ts';
import {
  agentList,
  healthAnswer,
  modelList,
  readyAnswer,
  type SignInRequest,
  signInAnswer,
  signInRequest,
  statsAnswer,
} from '../../protocol/meta.ts';
import { pageOf } from '../../protocol/page.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import { addOperation } from '../operation.ts';
import { userOf } from '../security/ownership.ts';
import { clearSignInCookie, setSignInCookie } from '../security/sign-in-cookie.ts';

const READY_MS = 2000;

/** What there is, and how it is. */
export function registerMeta(app: ServerApp, context: ServerContext): void {
  const { reprise, metrics } = context;
  addOperation(app, {
    method: 'get',
    paths: ['/api/agents'],
    id: 'listAgents',
    tag: 'meta',
    summary: 'The agents that are configured',
    answer: { schema: agentList, description: 'All of them' },
    run: ({ c }) => c.json(pageOf(reprise.agents(), false)),
  });
  addOperation(app, {
    method: 'get',
    paths: ['/api/models'],
    id: 'listModels',
    tag: 'meta',
    summary: 'The models that a session can choose',
    answer: { schema: modelList, description: 'Those of the configuration and of its providers' },
    run: async ({ c }) => {
      const offers = (await context.listModels?.()) ?? [];
      return c.json(
        pageOf(
          offers.map((offer) => ({ id: offer.name, ...offer })),
          false,
        ),
      );
    },
  });
  addOperation(app, {
    method: 'get',
    paths: ['/api/commands'],
    id: 'listCommands',
    tag: 'meta',
    summary: 'What POST …/command takes',
    answer: { schema: commandList, description: 'All of them' },
    run: ({ c }) => {
      const surface = userOf(c) === undefined ? 'http' : 'channel';
      const rows = COMMANDS.filter(({ surfaces }) => surfaces.includes(surface));
      const data = rows.map(({ name, aliases, args, help, group }) => ({
        id: name,
        name,
        aliases,
        args,
        help,
        group,
      }));
      return c.json(pageOf(data, false));
    },
  });
  addOperation<unknown, unknown, SignInRequest>(app, {
    method: 'post',
    paths: ['/api/sign-in'],
    id: 'signIn',
    tag: 'meta',
    summary: 'Sign in all tabs of the browser with a cookie; a new token of the server ends it',
    body: signInRequest,
    answer: { schema: signInAnswer, description: 'The cookie is set' },
    run: ({ body: { keep }, c }) => {
      const cookieValue = context.token?.cookieValue;
      if (cookieValue !== undefined) setSignInCookie(c, cookieValue, { keep });
      return c.json({ signedIn: cookieValue !== undefined });
    },
  });
  addOperation(app, {
    method: 'post',
    paths: ['/api/sign-out'],
    id: 'signOut',
    tag: 'meta',
    summary: 'Remove the sign-in cookie of the browser',
    answer: { schema: signInAnswer, description: 'The cookie is removed' },
    run: ({ c }) => {
      clearSignInCookie(c);
      return c.json({ signedIn: false });
    },
  });
  addOperation(app, {
    method: 'get',
    paths: ['/api/stats'],
    id: 'getStats',
    tag: 'meta',
    summary: 'How much there is, and how much runs and waits',
    answer: { schema: statsAnswer, description: 'Now' },
    run: async ({ c }) => {
      const stats = await reprise.store.stats({ search: true });
      const { sessions, bytes, behind, disk, rebuilding, search } = stats;
      return c.json({
        sessions,
        bytes,
        behind,
        ...(disk !== undefined && { disk }),
        ...(rebuilding !== undefined && { rebuilding }),
        ...(search !== undefined && { search }),
        lanes: reprise.lanes(),
      });
    },
  });
  addOperation(app, {
    method: 'get',
    paths: ['/healthz'],
    id: 'health',
    tag: 'meta',
    summary: 'The process answers',
    answer: { schema: healthAnswer, description: 'It does' },
    run: ({ c }) => c.json({ status: 'ok' }),
  });
  addOperation(app, {
    method: 'get',
    paths: ['/readyz'],
    id: 'ready',
    tag: 'meta',
    summary: 'It takes messages: the store answers and has room',
    answer: { schema: readyAnswer, description: 'It does; a problem says why not' },
    run: async ({ c }) => {
      await assertReady(context);
      return c.json({ status: 'ready', version: context.version });
    },
  });
  addOperation(app, {
    method: 'get',
    paths: ['/metrics'],
    id: 'metrics',
    tag: 'meta',
    summary: 'Counters for Prometheus',
    answer: { type: 'text/plain', description: 'The text format' },
    run: async ({ c }) =>
      c.body(await metrics.render(reprise), 200, {
        'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
      }),
  });
}

async function assertReady({ reprise, closing }: ServerContext): Promise<void> {
  if (closing.aborted) throw failure('UNAVAILABLE', 'server.stopping');
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const silent = failure('STORE_BUSY', 'server.storeSilent', { seconds: READY_MS / 1000 });
    timer = setTimeout(() => reject(silent), READY_MS);
  });
  try {
    const { disk, server } = await Promise.race([reprise.store.stats(), late]);
    if (server?.readOnly === true)
      throw failure('STORE_READ_ONLY', 'postgres.failed', { problem: 'readOnly', message: null });
    if (disk !== undefined && disk.freeBytes < disk.minFreeBytes)
      throw failure('STORE_FULL', 'store.noSpace', { ...disk, folder: null }, { details: { ...disk } });
  } finally {
    clearTimeout(timer);
  }
}
