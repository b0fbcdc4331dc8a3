import { isObject, type JsonObject } from '../json.ts';
import { canonicalBlock, canonicalMessages, toolCall, toolResult } from './blocks.ts';

/**
 * claw0 writes flat records: user, assistant, tool_use, tool_result. Two habits of its writers are corrected: tool
 * calls that are saved twice (inside the assistant record and as separate records), and, in the classic form, results
 * that are saved during the turn before the turn itself, so a result precedes its call.
 */

/** The content must be where claw0 puts it: other tools use the same types for records of another form. */
export function isFlatRecord(record: JsonObject): boolean {
  const { type, content } = record;
  if (type === 'user' || type === 'assistant') return typeof content === 'string' || isBlockList(content);
  return (type === 'tool_use' || type === 'tool_result') && 'tool_use_id' in record;
}

function isBlockList(content: unknown): boolean {
  if (!Array.isArray(content)) return false;
  return content.every(
    (block) => typeof block === 'string' || (isObject(block) && typeof block['type'] === 'string'),
  );
}

/** Adds a message to the chain and returns its content list, which may still grow. */
export type EmitMessage = (message: JsonObject, source: JsonObject) => void;

export interface FlatReader {
  add(record: JsonObject): void;
  /** Called before a record that is not flat, and at the end. */
  close(): void;
}

interface OpenAssistant {
  readonly content: unknown[];
  /** Maps call ids to the call, to recognize a call that is saved again. */
  readonly calls: Map<unknown, string>;
  readonly answered: Set<unknown>;
}

interface HeldResult {
  readonly record: JsonObject;
  /** Number of user records read so far: it can only belong to the turn that is saved next. */
  readonly turn: number;
}

export function createFlatReader(emit: EmitMessage): FlatReader {
  let open: OpenAssistant | null = null;
  const held = new Map<unknown, HeldResult[]>();
  let turn = 0;

  const openAssistant = (content: unknown[], source: JsonObject): OpenAssistant => {
    closeAssistant();
    const calls = new Map<unknown, string>();
    for (const block of content) {
      if (isObject(block) && block['type'] === 'toolCall') calls.set(block['id'], signature(block));
    }
    emit({ role: 'assistant', content }, source);
    open = { content, calls, answered: new Set() };
    return open;
  };
  const answerFromHeld = ({ calls, answered }: OpenAssistant): void => {
    if (held.size === 0) return;
    for (const id of calls.keys()) {
      if (answered.has(id)) continue;
      const result = held.get(id)?.shift();
      if (result !== undefined) emit(toolResult(result.record), result.record);
    }
  };
  const closeAssistant = (): void => {
    if (open !== null) answerFromHeld(open);
    open = null;
  };
  /** A result that no call of the next turn claims stays an orphan: a later call with its id is a different call. */
  const releaseHeld = (olderThan: number): void => {
    for (const [id, results] of held) {
      const rest = results.filter((result) => {
        if (result.turn >= olderThan) return true;
        emit(toolResult(result.record), result.record);
        return false;
      });
      if (rest.length === 0) held.delete(id);
      else held.set(id, rest);
    }
  };

  return {
    add(record) {
      const { type, content } = record;
      if (type === 'user') {
        closeAssistant();
        releaseHeld(turn);
        turn++;
        for (const message of canonicalMessages({ role: 'user', content })) emit(message, record);
      } else if (type === 'assistant') {
        openAssistant(Array.isArray(content) ? content.map(canonicalBlock) : asText(content), record);
      } else if (type === 'tool_use') {
        const call = toolCall(record['tool_use_id'], record['name'], record['input']);
        const known = open?.calls.get(call['id']);
        if (known === signature(call)) return;
        if (open === null || open.answered.size > 0 || known !== undefined) openAssistant([call], record);
        else {
          open.content.push(call);
          open.calls.set(call['id'], signature(call));
        }
      } else if (open?.calls.has(record['tool_use_id'])) {
        open.answered.add(record['tool_use_id']);
        emit(toolResult(record), record);
      } else {
        const id = record['tool_use_id'];
        const same = held.get(id);
        if (same === undefined) held.set(id, [{ record, turn }]);
        else same.push({ record, turn });
      }
    },
    close() {
      closeAssistant();
      releaseHeld(Number.POSITIVE_INFINITY);
    },
  };
}

function asText(content: unknown): unknown[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : [];
}

function signature(call: JsonObject): string {
  return JSON.stringify([call['name'], call['arguments']]) ?? '';
}
