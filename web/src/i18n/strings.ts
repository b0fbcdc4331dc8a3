import { signal } from '@preact/signals';
import {
  type CodedAnswer,
  commandText,
  failedMessage,
  type Message,
  type MessageTable,
  type RepriseError,
  sentence,
  textOf,
  whyOf,
} from 'reprise/client';
import chineseUrl from './chinese.ts?file';
import englishUrl from './english.ts?file';
import { EN } from './strings-en.ts';

export type Language = 'en' | 'zh';
export type StringName = keyof typeof EN;
export type Words = Readonly<Record<StringName, string>>;

const KEY = 'reprise.language';
const RETRY_MS = 2000;

export const language = signal<Language>('en');
const words = signal<Words>(EN);
/** Undefined until the file of the language is loaded: then the page shows the English of the server. */
const messages = signal<MessageTable | undefined>(undefined);
let chosen: Language = 'en';
let failures = 0;

/** The language chosen here before, or else the one the browser prefers. A Chinese page waits for its texts. */
export async function loadLanguage(): Promise<void> {
  const wanted = localStorage.getItem(KEY) ?? navigator.language.toLowerCase().slice(0, 2);
  if (wanted === 'zh') await useLanguage('zh');
  else void useLanguage('en');
}

export async function setLanguage(wanted: Language): Promise<void> {
  localStorage.setItem(KEY, wanted);
  await useLanguage(wanted);
}

/** English labels are part of the page. If a file cannot be loaded, the page stays as it is and tries again. */
async function useLanguage(wanted: Language): Promise<void> {
  chosen = wanted;
  if (wanted === 'en') show('en', EN, undefined);
  try {
    const { WORDS = EN, MESSAGES } = await load(wanted);
    if (chosen === wanted) show(wanted, WORDS, MESSAGES);
  } catch {
    failures++;
    setTimeout(() => {
      if (chosen === wanted) void useLanguage(wanted);
    }, RETRY_MS);
  }
}

interface LanguageFile {
  readonly WORDS?: Words;
  readonly MESSAGES: MessageTable;
}

/** Another address after a failure: until a reload a browser does not load a module again whose address failed once. */
async function load(wanted: Language): Promise<LanguageFile> {
  const url = wanted === 'zh' ? chineseUrl : englishUrl;
  return import(/* @vite-ignore */ failures === 0 ? url : `${url}?${failures}`);
}

function show(shown: Language, table: Words, texts: MessageTable | undefined): void {
  words.value = table;
  messages.value = texts;
  language.value = shown;
  document.documentElement.lang = shown;
}

/** A message of the server; undefined while its code is unknown here, because the server is newer. */
export function messageText(message: Message): string | undefined {
  return messages.value && textOf(messages.value, message, ' ');
}

/** The cause of an event; `english` is shown while its code is unknown here. */
export function causeText(english: string, why: Message | undefined): string {
  return (why && messageText(why)) ?? english;
}

/** The answer to a command, line by line. */
export function answerText(answer: CodedAnswer): string {
  return messages.value === undefined ? answer.text : commandText(messages.value, answer);
}

/** Why something failed, and what to do next. */
export function errorText(error: Failure): string {
  return messageText(whyOf(error)) ?? messageText(failedMessage(error)) ?? serverText(error);
}

/** As the server wrote it, while the texts of the page are not loaded. */
function serverText(error: Failure): string {
  const { text, next } = failedMessage(error).params;
  return next === null ? sentence(text) : `${sentence(text)} ${next}`;
}

/** An error that was thrown here or reported by the server. */
export type Failure = Pick<RepriseError, 'message' | 'why' | 'details'> & { readonly code: string };

/** In the language of the page; views that call it are drawn again when that changes. */
export function t(name: StringName, ...parts: readonly (string | number)[]): string {
  let i = 0;
  return words.value[name].replace(/\{\}/g, () => String(parts[i++] ?? ''));
}
