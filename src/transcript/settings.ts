import type { JsonObject } from './json.ts';

/** One patch on top of settings: null takes a name back. A Map, so that a name like `__proto__` is only a name. */
export function patchSettings(settings: Map<string, unknown>, patch: JsonObject): void {
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) settings.delete(name);
    else settings.set(name, value);
  }
}
