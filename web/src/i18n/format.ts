import { language } from './strings.ts';

/** 1,234 as `1.2k`: how much, at a glance. */
export function shortCount(n: number): string {
  if (n < 1000) return String(Math.round(n));
  const [value, unit] = n < 999_500 ? [n / 1000, 'k'] : [n / 1_000_000, 'M'];
  return `${value < 9.95 ? value.toFixed(1).replace(/\.0$/, '') : Math.round(value)}${unit}`;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function cost(dollars: number): string {
  if (dollars === 0) return '$0';
  return `$${dollars < 0.01 ? dollars.toFixed(4) : dollars.toFixed(2)}`;
}

/** The time of today, else the day: as people look for it. */
export function shortTime(iso: string, now: Date = new Date()): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '';
  const locale = language.value === 'zh' ? 'zh-CN' : 'en-GB';
  if (at.toDateString() === now.toDateString())
    return at.toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' });
  const isThisYear = at.getFullYear() === now.getFullYear();
  return at.toLocaleDateString(locale, {
    day: 'numeric',
    month: 'short',
    ...(!isThisYear && { year: 'numeric' }),
  });
}

export function fullTime(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  return at.toLocaleString(language.value === 'zh' ? 'zh-CN' : 'en-GB');
}

/** @returns `b` for `a/b`, as stored, and for `a:b`, as a running turn names it: one name before and after its end. */
export function modelName(model: string): string {
  return model.replace(/^[^:/]+:/, '').replace(/^.*\//s, '');
}
