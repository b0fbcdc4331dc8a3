import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { attempt, connection } from '../stores/api.ts';
import { loadLaterWords } from '../strings.ts';

type View = () => JSX.Element | null;

const loaded = new Map<() => Promise<View>, View>();

/** Soon, though nothing asks for it yet: whoever presses a key is already typing. */
export async function preload(load: () => Promise<View>): Promise<void> {
  loaded.set(load, await withWords(load));
}

/** A view whose code comes when it is first shown, or when the server is back; afterwards it is there at once. */
export function Later({ load }: { readonly load: () => Promise<View> }): JSX.Element | null {
  const [View, setView] = useState<View | undefined>(() => loaded.get(load));
  const isOnline = connection.value === 'online';
  useEffect(() => {
    if (View !== undefined) return;
    void attempt(() => withWords(load)).then((view) => {
      if (view === undefined) return;
      loaded.set(load, view);
      setView(() => view);
    });
  }, [load, isOnline]);
  return View === undefined ? null : <View />;
}

async function withWords(load: () => Promise<View>): Promise<View> {
  const [view] = await Promise.all([load(), loadLaterWords()]);
  return view;
}
