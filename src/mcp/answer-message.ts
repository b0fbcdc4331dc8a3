import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../transcript/json.ts';
import { createMcpServer, type McpOptions } from './mcp-server.ts';

/**
 * Answers one message of a client on HTTP. No state is kept between two messages, so any server of several can
 * answer the next one.
 *
 * @returns `undefined` if the message needs no answer.
 */
export async function answerMessage(
  options: McpOptions,
  message: JsonObject,
): Promise<JsonObject | undefined> {
  const server = await createMcpServer(options);
  const isRequest = message['id'] !== undefined && message['method'] !== undefined;
  const answered = Promise.withResolvers<JsonObject>();
  const transport: Transport = {
    start: async () => undefined,
    close: async () => undefined,
    send: async (answer) => answered.resolve(answer as unknown as JsonObject),
  };
  await server.connect(transport);
  try {
    transport.onmessage?.(message as unknown as JSONRPCMessage);
    return isRequest ? await answered.promise : undefined;
  } finally {
    await server.close();
  }
}
