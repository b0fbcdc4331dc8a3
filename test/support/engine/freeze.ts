/** Makes any later write to stored history throw. No recursion: histories may be deep. */
export function deepFreeze<T>(root: T): T {
  const stack: unknown[] = [root];
  for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
    if (typeof value !== 'object' || value === null || Object.isFrozen(value)) continue;
    Object.freeze(value);
    for (const item of Object.values(value)) if (item !== undefined) stack.push(item);
  }
  return root;
}
