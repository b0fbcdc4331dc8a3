import { pathToFileURL } from 'node:url';
import { checkTools } from '../engine/check-options.ts';
import type { Tool, ToolSession } from '../engine/tools/tool.ts';
import type { ToolList } from '../engine/tools/tool-list.ts';
import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import { isObject } from '../transcript/json.ts';

/**
 * Loads the modules of the setting `tools`. The default export is a tool, a list of tools, or a function that returns
 * the list for a session.
 *
 * @param paths Absolute. The modules run with the rights of this process, so the setting needs trust.
 */
export async function loadToolModules(paths: readonly string[]): Promise<ToolList> {
  const lists = await Promise.all(paths.map(loadToolModule));
  const fixed = lists.flatMap((list) => (typeof list === 'function' ? [] : list));
  const varying = lists.filter((list) => typeof list === 'function');
  if (varying.length === 0) return fixed;
  return async (session: ToolSession) => [
    ...fixed,
    ...(await Promise.all(varying.map((list) => list(session)))).flat(),
  ];
}

async function loadToolModule(path: string): Promise<ToolList> {
  const loaded: unknown = await import(pathToFileURL(path).href).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw badModule(path, reason, error);
  });
  const exported = isObject(loaded) ? loaded['default'] : undefined;
  if (exported === undefined) throw badModule(path, null);
  if (typeof exported === 'function') return exported as Extract<ToolList, (session: ToolSession) => unknown>;
  const list: unknown = Array.isArray(exported) ? exported : [exported as Tool];
  checkTools(list, path);
  return list;
}

function badModule(path: string, reason: string | null, cause?: unknown): RepriseError {
  return failure('CONFIG_INVALID', 'config.badToolModule', { path, reason }, { details: { path }, cause });
}
