import type { None } from '../params.ts';

/** Messages about sessions, their entries and their turns. */
export interface ConversationMessages {
  'session.empty': None;
  'entry.missing': { readonly entry: string };
  'entry.ambiguous': { readonly entry: string; readonly entries: number };
  'turn.running': None;
  'turn.missing': { readonly turn: string; readonly turns: number };
  'turn.ambiguous': { readonly turn: string; readonly matches: number };
  'undo.tooLarge': { readonly tokens: number; readonly budget: number };
  'session.missing': { readonly ref: string; readonly isTrash: boolean };
  'session.ambiguous': { readonly ref: string; readonly sessions: number; readonly shown: readonly string[] };
  'session.notInList': { readonly ref: string; readonly listed: number | null };
  'session.listNumber': { readonly ref: string };
  'message.missing': { readonly position: number; readonly messages: number };
  'entry.noText': { readonly entry: string };
  'pins.tooLarge': { readonly tokens: number; readonly max: number };
  'retry.afterStep': { readonly what: string };
  'retry.afterNote': { readonly note: string };
  'turn.none': None;
  'turn.unexpected': { readonly problem: string };
  'model.notConfigured': { readonly model: string };
  'model.slow': { readonly model: string; readonly seconds: number };
}
