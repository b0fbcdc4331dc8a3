import { checkNames, configFault } from '../check-config.ts';

/** Milliseconds, or a number and its unit: `90m`, `12h`, `30d`, `4w`. */
export type Duration = number | string;

/** What may go by itself. Nothing is set by default, and then nothing goes. */
export interface MaintenanceRules {
  /**
   * Sessions without messages for this long go to the trash, also the current session of a key: the next message of that
   * sender starts a new one.
   */
  readonly ttl?: Duration;
  /** Above this number the oldest go to the trash. Current sessions of keys stay. */
  readonly maxSessions?: number;
  /** The oldest go to the trash while all transcripts outside it are larger. Current sessions of keys stay. */
  readonly maxBytes?: number;
  /** Sessions without messages for this long are archived, also the current session of a key, as with `ttl`. */
  readonly archiveAfter?: Duration;
  /** How long the trash keeps what is in it; 30 days. Nothing is purged unless this or a rule that deletes is set. */
  readonly grace?: Duration;
}

/** The same in milliseconds; infinite where nothing is to happen. */
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

/** CONFIG_INVALID for rules that could not mean what they say: what they remove is not easily had back. */
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
