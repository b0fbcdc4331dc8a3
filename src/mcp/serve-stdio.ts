import { createMcpServer, type McpOptions } from './mcp-server.ts';

/** Serves on stdin and stdout until the client closes them or the signal aborts. */
export async function serveStdio(options: McpOptions, signal: AbortSignal): Promise<void> {
  const server = await createMcpServer(options);
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const ended = new Promise<void>((resolve) => {
    server.onclose = resolve;
    process.stdin.once('end', () => resolve());
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.connect(new StdioServerTransport());
  await ended;
  await server.close();
}
