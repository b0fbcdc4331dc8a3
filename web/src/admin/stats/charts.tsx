import type { ComponentChildren, JSX } from 'preact';
import { language } from '../../i18n/strings.ts';
import type { Bar } from './summary.ts';

export function Chart({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      {children}
    </figure>
  );
}

interface BarsProps {
  readonly bars: readonly Bar[];
  /** Formats a value as text. */
  readonly format: (value: number) => string;
}

export function Tiles({
  tiles,
}: {
  readonly tiles: readonly (readonly [name: string, value: string, note?: string])[];
}): JSX.Element {
  return (
    <dl class="tiles">
      {tiles.map(([name, value, note = '']) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
          {note !== '' && <dd class="notes">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

const most = (bars: readonly Bar[]): number => Math.max(Number.MIN_VALUE, ...bars.map(({ value }) => value));

export function Bars({ bars, format }: BarsProps): JSX.Element {
  const top = most(bars);
  return (
    <ul class="bars">
      {bars.map(({ name, value }) => (
        <li key={name}>
          <span class="clip">{name}</span>
          <i style={{ width: `${(value / top) * 100}%` }} />
          <b>{format(value)}</b>
        </li>
      ))}
    </ul>
  );
}

/** Days are in UTC, independent of the browser's time zone. */
function day(bar: Bar | undefined): string {
  if (bar === undefined) return '';
  const locale = language.value === 'zh' ? 'zh-CN' : 'en-GB';
  const parts = { day: 'numeric', month: 'short', year: 'numeric' } as const;
  return new Date(bar.name).toLocaleDateString(locale, { ...parts, timeZone: 'UTC' });
}

export function Columns({ bars, format }: BarsProps): JSX.Element {
  const top = most(bars);
  return (
    <>
      <ul class="columns">
        {bars.map((bar) => (
          <li key={bar.name} title={`${day(bar)}: ${format(bar.value)}`}>
            <i style={{ height: `${(bar.value / top) * 100}%` }} />
            <span class="offscreen">
              {bar.name}: {format(bar.value)}
            </span>
          </li>
        ))}
      </ul>
      <p class="ends" aria-hidden="true">
        <span>{day(bars[0])}</span>
        <span>{day(bars.at(-1))}</span>
      </p>
    </>
  );
}
