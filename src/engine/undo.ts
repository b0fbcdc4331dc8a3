import { pinsInForce } from '../compaction/pins.ts';
import { startsTurn } from '../compaction/safe-cut.ts';
import { compactionStack, redoCompaction, undoCompaction } from '../compaction/undo.ts';
import type { NewEntry } from '../store/store.ts';
import type { Entry } from '../transcript/entry.ts';
import { isObject } from '../transcript/json.ts';
import { pathEntries } from '../transcript/tree.ts';

/** One step back or forth, as the entry that makes it. Nothing is removed: the step itself is history (P3). */
export interface Step {
  readonly kind: 'turn' | 'compaction';
  readonly entry: NewEntry;
}

/** The last turn or the last compaction in force, whichever came later; undefined where there is neither. */
export function undoStep(all: readonly Entry[]): Step | undefined {
  const path = pathEntries(all);
  const lastTurn = path.findLastIndex(startsTurnHere(path));
  const { inForce } = compactionStack(path);
  const newest = inForce.at(-1);
  const lastCompaction = newest === undefined ? -1 : path.lastIndexOf(newest);
  if (lastTurn === -1 && lastCompaction === -1) return undefined;
  if (lastCompaction > lastTurn) {
    const undone = undoCompaction(path);
    return undone === undefined ? undefined : { kind: 'compaction', entry: compensate(undone, all) };
  }
  const leaf = path.at(-1)?.id;
  const before = path[lastTurn]?.parentId ?? null;
  const entry = { type: 'custom', customType: 'reprise.leaf', parentId: before, data: { undoes: leaf } };
  return { kind: 'turn', entry };
}

/** Takes back the last step that was not taken back yet, as long as nothing was said since. */
export function redoStep(all: readonly Entry[]): Step | undefined {
  const redone = new Set<string>();
  for (const entry of [...all].reverse()) {
    const { type, customType, data, details, id } = entry;
    if (type === 'custom' && customType === 'reprise.leaf' && isObject(data)) {
      const { undoes, redoes } = data;
      if (typeof redoes === 'string') redone.add(redoes);
      else if (typeof undoes === 'string' && !redone.has(id)) {
        const move = { type: 'custom', customType: 'reprise.leaf', parentId: undoes, data: { redoes: id } };
        return { kind: 'turn', entry: move };
      }
    } else if (type === 'compaction' && isObject(details)) {
      if (typeof details['undoes'] === 'string') {
        const again = redoCompaction(pathEntries(all));
        if (again !== undefined) return { kind: 'compaction', entry: compensate(again, all) };
      } else if (typeof details['redoes'] !== 'string') return undefined;
    } else if (type !== 'custom' && type !== 'label' && type !== 'session_info') return undefined;
  }
  return undefined;
}

/** A note that came with a message belongs to the same turn: undoing takes both. */
function startsTurnHere(path: readonly Entry[]): (entry: Entry, at: number) => boolean {
  return (entry, at) => {
    const before = path[at - 1];
    return startsTurn(entry) && !(before !== undefined && before.type === 'custom_message');
  };
}

function compensate(fields: object, all: readonly Entry[]): NewEntry {
  const { details, ...rest } = fields as { details: object };
  return { type: 'compaction', ...rest, details: { ...details, pins: pinsInForce(all) } };
}
