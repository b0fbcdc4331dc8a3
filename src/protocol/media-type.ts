/**
 * The type of answers in Reprise's shape. A request that accepts it gets that shape from every agent; without it an agent
 * whose profile has the layout of another system answers in the shape of that system.
 */
export const OWN_TYPE = 'application/vnd.reprise+json';

export function acceptsOwnType(accept: string | undefined): boolean {
  return accept?.toLowerCase().includes(OWN_TYPE) === true;
}
