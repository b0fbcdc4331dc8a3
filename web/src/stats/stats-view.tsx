import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { SessionView, StatsAnswer, TotalsAnswer } from 'reprise/client';
import { cost, shortCount, shortTime } from '../format.ts';
import { attempt, client } from '../stores/api.ts';
import { formatRoute } from '../stores/route.ts';
import { nameOf } from '../stores/session-keys.ts';
import { t } from '../strings.ts';
import { ListButton } from '../ui/list-button.tsx';
import { type Bar, shortBytes, summarise } from './summary.ts';

const LOOKED_AT = 1000;

/** How much there is, what runs, and where the words and the money went. */
export function StatsView(): JSX.Element {
  const list = useSignal<readonly SessionView[]>([]);
  const stats = useSignal<StatsAnswer | undefined>(undefined);
  const totals = useSignal<ReadonlyMap<string, TotalsAnswer>>(new Map());
  useEffect(() => {
    void attempt(async () => {
      stats.value = await client.value.stats();
      list.value = (await client.value.sessions({ limit: LOOKED_AT, status: 'open' })).data;
      for (const { id, agentId } of summarise(list.value, new Date()).largest) {
        const taken = await client.value.session(id, { agentId }).totals();
        totals.value = new Map([...totals.value, [id, taken]]);
      }
    });
  }, []);
  const { days, agents, channels, largest } = summarise(list.value, new Date());
  return (
    <section class="admin">
      <header class="chat-head">
        <ListButton />
        <h1>{t('stats')}</h1>
      </header>
      <div class="scroll charts" tabIndex={0} role="region" aria-label={t('stats')}>
        {stats.value !== undefined && <Tiles stats={stats.value} />}
        <Chart title={t('statDays')}>
          <Columns bars={days} />
        </Chart>
        <Chart title={t('statAgents')}>
          <Bars bars={agents} />
        </Chart>
        <Chart title={t('statChannels')}>
          <Bars bars={channels.map(({ name, value }) => ({ name: name === '' ? t('own') : name, value }))} />
        </Chart>
        <Chart title={t('statTop')}>
          <table>
            <thead>
              <tr>
                <th>{t('title')}</th>
                <th class="number">{t('context')}</th>
                <th class="number">{t('turns')}</th>
                <th class="number">{t('tokensHead')}</th>
                <th class="number">{t('cost')}</th>
              </tr>
            </thead>
            <tbody>
              {largest.map((session) => (
                <tr key={session.id}>
                  <td class="clip">
                    <a
                      href={formatRoute({ view: 'session', agentId: session.agentId, sessionId: session.id })}
                    >
                      {nameOf(session)}
                    </a>
                  </td>
                  <td class="number">{shortCount(session.tokenEstimate)}</td>
                  <Totals of={totals.value.get(session.id)} />
                </tr>
              ))}
            </tbody>
          </table>
        </Chart>
        <p class="hint">{t('statOf', list.value.length)}</p>
      </div>
    </section>
  );
}

function Totals({ of }: { readonly of: TotalsAnswer | undefined }): JSX.Element {
  const spent = of?.usage.cost?.['total'];
  return (
    <>
      <td class="number">{of?.turns ?? ''}</td>
      <td class="number">{of === undefined ? '' : shortCount(of.usage.totalTokens)}</td>
      <td class="number">{spent === undefined ? '' : cost(spent)}</td>
    </>
  );
}

function Tiles({ stats }: { readonly stats: StatsAnswer }): JSX.Element {
  const lanes = Object.values(stats.lanes);
  const sum = (part: 'running' | 'waiting'): number => lanes.reduce((all, lane) => all + lane[part], 0);
  const tiles: readonly (readonly [name: string, value: string])[] = [
    [t('statSessions'), stats.sessions.toLocaleString('en')],
    [t('statBytes'), shortBytes(stats.bytes)],
    [t('statRunning'), String(sum('running'))],
    [t('statWaiting'), String(sum('waiting'))],
    ...(stats.disk === undefined ? [] : [[t('statFree'), shortBytes(stats.disk.freeBytes)] as const]),
  ];
  return (
    <dl class="tiles">
      {tiles.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Chart({
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

const most = (bars: readonly Bar[]): number => Math.max(1, ...bars.map(({ value }) => value));

function Bars({ bars }: { readonly bars: readonly Bar[] }): JSX.Element {
  const top = most(bars);
  return (
    <ul class="bars">
      {bars.map(({ name, value }) => (
        <li key={name}>
          <span class="clip">{name}</span>
          <i style={{ width: `${(value / top) * 100}%` }} />
          <b>{value.toLocaleString('en')}</b>
        </li>
      ))}
    </ul>
  );
}

function Columns({ bars }: { readonly bars: readonly Bar[] }): JSX.Element {
  const top = most(bars);
  // A day, also when it is today.
  const day = (bar: Bar | undefined): string => shortTime(bar?.name ?? '', new Date(0));
  return (
    <>
      <ul class="columns">
        {bars.map(({ name, value }) => (
          <li key={name} title={`${shortTime(name)}: ${value}`}>
            <i style={{ height: `${(value / top) * 100}%` }} />
            <span class="offscreen">
              {name}: {value}
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
