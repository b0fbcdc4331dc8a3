import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { attempt, connection } from '../stores/api.ts';
import { loadLaterWords } from '../strings.ts';

type View<P> = (props: P) => JSX.Element | null;
type Load<P> = () => Promise<View<P>>;

const loaded = new Map<unknown, unknown>();

/** Before anything asks for it: whoever presses a key is already typing, and some things must not come without it. */
export async function preload<P>(load: Load<P>): Promise<void> {
  loaded.set(load, await withWords(load));
}

/** A view whose code comes when it is first shown, or when the server is back; afterwards it is there at once. */
export function Later<P extends object>({
  load,
  ...props
}: P & { readonly load: Load<P> }): JSX.Element | null {
  const [View, setView] = useState(() => loaded.get(load) as View<P> | undefined);
  const isOnline = connection.value === 'online';
  useEffect(() => {
    if (View !== undefined) return;
    void attempt(() => withWords(load)).then((view) => {
      if (view === undefined) return;
      loaded.set(load, view);
      setView(() => view);
    });
  }, [load, isOnline]);
  return View === undefined ? null : <View {...(props as unknown as P)} />;
}

async function withWords<P>(load: Load<P>): Promise<View<P>> {
  const [view] = await Promise.all([load(), loadLaterWords()]);
  return view;
}
