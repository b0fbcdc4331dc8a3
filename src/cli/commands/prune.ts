import {
  IMPORT_GRACE_DAYS,
  type MaintenanceItem,
  type MaintenancePlan,
} from '../../engine/admin/maintenance.ts';
import type { MaintenanceRules } from '../../engine/admin/maintenance-rules.ts';
import { type MaintenanceReport, runMaintenance } from '../../engine/admin/run-maintenance.ts';
import { minutesAgo } from '../../engine/commands/session-line.ts';
import { ago, count, counted } from '../../messages/english-format.ts';
import { failure } from '../../messages/failure.ts';
import { homeOf, openHomeWith } from '../backend/home.ts';
import { countOption, type Options, textOption } from '../options.ts';
import { confirm, isInteractive } from '../terminal/ask.ts';
import { escapeForTerminal, print, printPage, say, style } from '../terminal/print.ts';

const ACTIONS = { purge: 'for good', delete: 'to the trash', archive: 'archived' } as const;
type Action = keyof typeof ACTIONS;

/**
 * `reprise prune`: always does a dry run first, then removes after a confirmation. Exits with 1 if something could not
 * be removed.
 */
export async function prune(options: Options): Promise<number> {
  const home = await homeOf(options);
  const rules = rulesOf(options, home.config.session.maintenance);
  await using store = (await openHomeWith(home)).store;
  const { plan } = await runMaintenance(store, rules, { dryRun: true });
  const isJson = options['json'] === true;
  if (!isJson) showPlan(plan);
  const isEmpty = (Object.keys(ACTIONS) as Action[]).every((action) => plan[action].length === 0);
  const goes = !isEmpty && (options['yes'] === true || (!isJson && isInteractive()));
  if (goes && (await confirm('Do that?', options))) {
    const report = await runMaintenance(store, rules);
    if (isJson) printJson(report.plan, report);
    else sayReport(report);
    return report.failed.length === 0 ? 0 : 1;
  }
  if (isJson) printJson(plan);
  else if (!isEmpty) say('Nothing was changed. Pass --yes to do it.');
  return 0;
}

/** Merges the flags over the configured rules. */
function rulesOf(options: Options, configured: MaintenanceRules = {}): MaintenanceRules {
  const ttl = textOption(options['ttl']);
  const archiveAfter = textOption(options['archiveAfter']);
  const grace = textOption(options['grace']);
  const maxSessions = countOption('--max-sessions', options['maxSessions']);
  const maxBytes = countOption('--max-bytes', options['maxBytes']);
  const rules: MaintenanceRules = {
    ...configured,
    ...(ttl !== undefined && { ttl }),
    ...(archiveAfter !== undefined && { archiveAfter }),
    ...(grace !== undefined && { grace }),
    ...(maxSessions !== undefined && { maxSessions }),
    ...(maxBytes !== undefined && { maxBytes }),
  };
  if (Object.keys(rules).length > 0) return rules;
  throw failure('INVALID_INPUT', 'cli.noPruneRules');
}

function items(plan: MaintenancePlan): (MaintenanceItem & { readonly action: Action })[] {
  return (Object.keys(ACTIONS) as Action[]).flatMap((action) =>
    plan[action].map((item) => ({ action, ...item })),
  );
}

function showPlan(plan: MaintenancePlan): void {
  const now = new Date();
  for (const { action, title, sessionId, since, reason, bytes } of items(plan)) {
    const facts = `${sessionId} · ${ago(minutesAgo(since, now))} · by ${reason} · ${count(bytes)} bytes`;
    print(`${ACTIONS[action].padEnd(12)} ${escapeForTerminal(title || '(untitled)')}`);
    print(`             ${style('dim', escapeForTerminal(facts))}`);
  }
  const { purge, delete: goes, archive, recentImports, bytes, bytesLater, more } = plan;
  print(`to the trash: ${goes.length}, deleted permanently: ${purge.length}, archived: ${archive.length}`);
  print(
    `frees ${count(bytes)} bytes now, and ${count(bytesLater)} more when the sessions in the trash are deleted`,
  );
  if (recentImports > 0) {
    const them = recentImports === 1 ? 'it' : 'them';
    const imported = `${counted(recentImports, 'session')} imported less than ${IMPORT_GRACE_DAYS} days ago`;
    say(`${imported}: no rule applies to ${them} yet`);
  }
  if (more) say('one run handles only part of the sessions; run it again afterwards');
}

function sayReport({ deleted, purged, archived, spared, failed }: MaintenanceReport): void {
  const kept = spared > 0 ? `; ${spared} were used meanwhile and were not removed` : '';
  say(`Done: ${deleted} moved to the trash, ${purged} deleted permanently, ${archived} archived${kept}.`);
  for (const { sessionId, code } of failed) say(`${sessionId} was not removed: ${code}`);
}

function printJson(plan: MaintenancePlan, report?: MaintenanceReport): void {
  const data = items(plan);
  const { recentImports, bytes, bytesLater, more } = plan;
  const { plan: _, ...done } = report ?? { plan };
  printPage(data, {
    hasMore: more,
    lastId: data.at(-1)?.sessionId ?? null,
    recentImports,
    bytes,
    bytesLater,
    dryRun: report === undefined,
    ...done,
  });
}
