import { useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { SessionView, StatsAnswer, UsageOverview } from 'reprise/client';
import { attempt, client } from '../../api/api.ts';
import { nameOf } from '../../conversation/session-keys.ts';
import { cost, shortCount } from '../../i18n/format.ts';
import { t } from '../../i18n/strings.ts';
import { formatRoute } from '../../shell/route.ts';
import { ListButton } from '../../ui/list-button.tsx';
import { Bars, Chart, Columns, Tiles } from './charts.tsx';
import { byDay, firstDay, shortBytes } from './summary.ts';

const PERIODS = [7, 30, 90];
const LARGEST = 10;
const BARS = 20;
const AGAIN_MS = 1000;
const MOST_MS = 60_000;

/** Totals, running turns, and tokens and cost by day, agent and model. */
export function StatsView(): JSX.Element {
  const period = useSignal(30);
  const stats = useSignal<StatsAnswer | undefined>(undefined);
  const usage = useSignal<UsageOverview | undefined>(undefined);
  const previous = useSignal<UsageOverview | undefined>(undefined);
  const largest = useSignal<readonly SessionView[]>([]);
  useEffect(() => {
    void attempt(async () => {
      stats.value = await client.value.stats();
      largest.value = (await client.value.sessions({ limit: LARGEST, sort: 'tokens' })).data;
    });
  }, []);
  useSignalEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const now = new Date();
    const from = firstDay(period.value, now);
    previous.value = undefined;
    void attempt(async () => {
      const before = { from: firstDay(2 * period.value, now), to: firstDay(period.value + 1, now) };
      const report = await client.peek().usage(before);
      if (!isOver) previous.value = report;
    });
    let again = AGAIN_MS;
    const look = (): void =>
      void attempt(async () => {
        const report = await client.peek().usage({ from });
        if (isOver) return;
        usage.value = report;
        // A server that just started counts all sessions once; if a session cannot be read, the report stays
        // incomplete.
        if (!report.complete) timer = setTimeout(look, again);
        again = Math.min(2 * again, MOST_MS);
      });
    look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  });
  return (
    <section class="admin">
      <header class="chat-head">
        <ListButton />
        <h1>{t('stats')}</h1>
        <div class="tabs" role="group" aria-label={t('period')}>
          {PERIODS.map((days) => (
            <button
              key={days}
              type="button"
              aria-pressed={period.value === days}
              onClick={() => {
                period.value = days;
              }}
            >
              {t('daysOf', days)}
            </button>
          ))}
        </div>
      </header>
      <div class="scroll charts" tabIndex={0} role="region" aria-label={t('stats')}>
        <Tiles
          tiles={[
            ...(usage.value === undefined ? [] : spent(usage.value, previous.value)),
            ...(stats.value === undefined ? [] : standing(stats.value)),
          ]}
        />
        {usage.value !== undefined && <Usage of={usage.value} />}
        {largest.value.length > 0 && <Largest of={largest.value} />}
      </div>
    </section>
  );
}

function Largest({ of }: { readonly of: readonly SessionView[] }): JSX.Element {
  return (
    <Chart title={t('statTop')}>
      <table>
        <thead>
          <tr>
            <th>{t('title')}</th>
            <th class="number">{t('context')}</th>
            <th class="number">{t('turns')}</th>
          </tr>
        </thead>
        <tbody>
          {of.map((session) => (
            <tr key={session.id}>
              <td class="clip">
                <a href={formatRoute({ view: 'session', agentId: session.agentId, sessionId: session.id })}>
                  {nameOf(session)}
                </a>
              </td>
              <td class="number">{shortCount(session.tokenEstimate)}</td>
              <td class="number">{session.turnCount}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Chart>
  );
}

/** Usage in the period; cost only if prices are configured. */
function Usage({ of }: { readonly of: UsageOverview }): JSX.Element {
  const { total, agents, models, progress } = of;
  const isPriced = total.cost > 0;
  const bars = (
    rows: readonly { readonly name: string; readonly totalTokens: number; readonly cost: number }[],
  ) =>
    rows.slice(0, BARS).map((row) => ({
      name: isPriced ? `${row.name} · ${cost(row.cost)}` : row.name,
      value: row.totalTokens,
    }));
  return (
    <>
      {progress !== undefined && progress.total > 0 && (
        <p class="hint" role="status">
          {t('statPart', shortCount(progress.done), shortCount(progress.total))}
        </p>
      )}
      {models.length === 0 ? (
        <p class="hint">{t('statNothing')}</p>
      ) : (
        <>
          <Chart title={t('statDays')}>
            <Columns bars={byDay(of, 'totalTokens')} format={shortCount} />
          </Chart>
          {isPriced && (
            <Chart title={t('statCosts')}>
              <Columns bars={byDay(of, 'cost')} format={cost} />
            </Chart>
          )}
          <Chart title={t('statAgents')}>
            <Bars bars={bars(agents.map((row) => ({ name: row.agentId, ...row })))} format={shortCount} />
          </Chart>
          <Chart title={t('statModels')}>
            <Bars bars={bars(models.map((row) => ({ name: row.model, ...row })))} format={shortCount} />
          </Chart>
        </>
      )}
    </>
  );
}

/** Figures of the period, with their change against the one before. */
function spent(
  { total }: UsageOverview,
  previous: UsageOverview | undefined,
): readonly (readonly [name: string, value: string, note?: string])[] {
  const before = previous?.complete === true ? previous.total : undefined;
  const isPriced = total.cost > 0;
  const costNote = isPriced ? change(total.cost, before?.cost) : t('statNoPrice');
  return [
    [t('cost'), isPriced ? cost(total.cost) : '–', costNote],
    [t('tokensHead'), shortCount(total.totalTokens), change(total.totalTokens, before?.totalTokens)],
    [t('turns'), shortCount(total.turns), change(total.turns, before?.turns)],
    [t('statFailed'), shortCount(total.failed), change(total.failed, before?.failed)],
    [t('statGuard'), shortCount(total.guardSteps)],
    [t('statCompactions'), shortCount(total.compactions)],
    [t('statRepairs'), shortCount(total.repairs)],
  ];
}

function change(now: number, before: number | undefined): string {
  if (before === undefined || before === 0) return '';
  const percent = Math.round(((now - before) / before) * 100);
  return t('statPrevious', `${percent > 0 ? '+' : ''}${percent}%`);
}

function standing(stats: StatsAnswer): readonly (readonly [name: string, value: string])[] {
  const lanes = Object.values(stats.lanes);
  const sum = (part: 'running' | 'waiting'): number => lanes.reduce((all, lane) => all + lane[part], 0);
  return [
    [t('statSessions'), stats.sessions.toLocaleString('en')],
    [t('statBytes'), shortBytes(stats.bytes)],
    [t('statRunning'), String(sum('running'))],
    [t('statWaiting'), String(sum('waiting'))],
    ...(stats.disk === undefined ? [] : [[t('statFree'), shortBytes(stats.disk.freeBytes)] as const]),
  ];
}
