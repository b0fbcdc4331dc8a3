import { checkNames, configFault } from '../check-config.ts';

/** Milliseconds, or a number with a unit: `90m`, `12h`, `30d`, `4w`. */
export type Duration = number | string;

/** What maintenance may delete automatically. Nothing is set by default, and then nothing is deleted. */
export interface MaintenanceRules {
  /**
   * Moves sessions without messages for this long to the trash, also the active session of a key: the next message of
   * that sender starts a new one.
   */
  readonly ttl?: Duration;
  /** Above this number, the oldest sessions move to the trash. Active sessions of keys stay. */
  readonly maxSessions?: number;
  /**
   * While the transcripts outside the trash are larger than this, the oldest move to it. Active sessions of keys
   * stay.
   */
  readonly maxBytes?: number;
  /** Archives sessions without messages for this long, also the active session of a key, as with `ttl`. */
  readonly archiveAfter?: Duration;
  /**
   * How long sessions stay in the trash before they are purged; 30 days. They are purged only if this or a rule that
   * deletes is set.
   */
  readonly grace?: Duration;
}

/** The rules in milliseconds; infinite if a rule is off. */
export interface MaintenanceLimits {
  readonly ttl: number;
  readonly maxSessions: number;
  readonly maxBytes: number;
  readonly archiveAfter: number;
  readonly grace: number;
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const DEFAULT_GRACE = '30d';
const NAMES = ['ttl', 'maxSessions', 'maxBytes', 'archiveAfter', 'grace'];

/** Parses the rules. Throws CONFIG_INVALID for questionable ones, because what they delete is hard to restore. */
export function parseMaintenanceRules(rules: MaintenanceRules): MaintenanceLimits {
  checkNames('maintenance', rules, NAMES);
  const { ttl, maxSessions, maxBytes, archiveAfter, grace } = rules;
  const isDeleting = ttl !== undefined || maxSessions !== undefined || maxBytes !== undefined;
  return {
    ttl: duration('ttl', ttl),
    maxSessions: count('maxSessions', maxSessions),
    maxBytes: count('maxBytes', maxBytes),
    archiveAfter: duration('archiveAfter', archiveAfter),
    grace: duration('grace', grace ?? (isDeleting ? DEFAULT_GRACE : undefined), { mayBeZero: true }),
  };
}

function duration(
  name: string,
  value: Duration | undefined,
  { mayBeZero = false }: { readonly mayBeZero?: boolean } = {},
): number {
  if (value === undefined) return Number.POSITIVE_INFINITY;
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(String(value)) ?? [];
  const ms = typeof value === 'number' ? value : Number(amount) * (UNITS[unit] ?? Number.NaN);
  if (Number.isFinite(ms) && (ms > 0 || (mayBeZero && ms === 0))) return ms;
  throw configFault(`maintenance.${name}`, value, { is: 'duration' }, { is: 'number', min: 0 });
}

function count(name: string, value: number | undefined): number {
  if (value === undefined) return Number.POSITIVE_INFINITY;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw configFault(`maintenance.${name}`, value, { is: 'integer', min: 0 });
}
