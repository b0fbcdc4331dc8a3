import type { Store } from '../../../src/index.ts';

/** A store that fails after a given number of appends: its writer is cut short. */
export function breakAfter(store: Store, appends: number): Store {
  let left = appends;
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'append') return value.bind(target) as unknown;
      return (...args: Parameters<Store['append']>) => {
        if (left-- <= 0) return Promise.reject(new Error('cut short'));
        return target.append(...args);
      };
    },
  });
}
