const MAX_CHARS = 80;
/** Controls and bidi controls: a terminal would act on them. */
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A name from outside as a parameter of a message: shortened, in quotes, and escaped like JSON. */
export function quoted(text: string): string {
  const shown = text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
  return JSON.stringify(shown).replace(
    UNSAFE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Any value from outside, likewise. */
export function quotedValue(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  const text = typeof value === 'number' ? String(value) : toJson(value);
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value); // a cycle or a bigint
  }
}
