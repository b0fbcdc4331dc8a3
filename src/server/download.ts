import type { Context } from 'hono';
import type { ServerContext, ServerEnv } from './context.ts';

/**
 * The body of a file of any length. A piece is read when its client has taken the one before, so a slow client costs one
 * piece of memory and one that leaves ends the reading. The first is read before anything is answered: what fails there is
 * a problem as any other. What fails later cuts the connection, because the end of an answer says that it is whole (I-78).
 */
export async function openDownload(
  c: Context<ServerEnv>,
  { logger }: Pick<ServerContext, 'logger'>,
  parts: AsyncGenerator<Uint8Array, void, undefined>,
): Promise<ReadableStream<Uint8Array>> {
  let first: IteratorResult<Uint8Array, void> | undefined = await parts.next();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = first ?? (await parts.next());
          first = undefined;
          if (done === true) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          logger.error({ requestId: c.get('requestId'), err: error }, 'a download broke off');
          const connection = c.env?.outgoing;
          if (connection === undefined) controller.error(error);
          else connection.destroy(); // which cancels this stream
        }
      },
      cancel: async () => {
        await parts.return();
      },
    },
    { highWaterMark: 0 },
  );
}
