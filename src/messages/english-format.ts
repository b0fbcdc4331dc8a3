/** A whole number, "1,200". Without `Intl`, whose tables take longer to load than most commands take to answer. */
export function count(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** "1 session", "1,200 sessions". */
export function counted(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
}

/** "999 bytes", "1.2 KB", "35 MB", in powers of 1,000. */
export function byteCount(n: number): string {
  if (n < 999.5) return counted(Math.round(n), 'byte');
  const units = ['KB', 'MB', 'GB', 'TB'];
  let size = n / 1000;
  let unit = 0;
  for (; size >= 999.5 && unit < units.length - 1; unit++) size /= 1000;
  return `${size < 9.95 ? size.toFixed(1) : count(size)} ${units[unit]}`;
}

/** "0.5 s", "1,200 s". */
export function secondCount(seconds: number): string {
  return `${seconds < 10 ? Number(seconds.toFixed(1)) : count(seconds)} s`;
}

/** "just now", "5 min ago", "3 days ago". */
export function ago(minutes: number): string {
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h ago`;
  return `${Math.round(minutes / 1440)} days ago`;
}

/** "a", "a or b", "a, b or c". */
export function alternatives(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
