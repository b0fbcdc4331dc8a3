const MAX = 120;

/** Arguments on one line: the only one as it is, several as `name: value`. */
export function briefInput(input: unknown): string {
  if (typeof input !== 'object' || input === null) return '';
  const parts = Object.entries(input);
  const text =
    parts.length === 1
      ? show(parts[0]?.[1])
      : parts.map(([name, value]) => `${name}: ${show(value)}`).join(', ');
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MAX ? `${[...line.slice(0, MAX)].join('')}…` : line;
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
