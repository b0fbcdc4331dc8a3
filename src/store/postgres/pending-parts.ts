export const SEARCH = (..._: unknown[]): never => {
  throw new Error('not yet');
};
