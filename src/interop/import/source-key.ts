import { RepriseError } from '../../errors.ts';
import { formatSessionKey, parseSessionKey } from '../../keys/session-key.ts';

/** OpenClaw wrote `dm` before it wrote `direct`. */
const OLD_DIRECT = /^(agent:[^:]+:(?:[^:]+:){0,2})dm:(?=.)/;

/**
 * A key of another system as it is written here. Others leave characters of an id as they are that are escaped here (`/` in
 * the group ids of Signal), and the router escapes them: unchanged, the key would match no later message.
 */
export function canonicalSourceKey(key: string): string {
  try {
    return formatSessionKey(parseSessionKey(key.replace(OLD_DIRECT, '$1direct:')));
  } catch (error) {
    const canonical = error instanceof RepriseError ? error.details['canonical'] : undefined;
    if (typeof canonical === 'string') return canonical;
    throw error;
  }
}
