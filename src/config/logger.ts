import { format } from 'node:util';
import { type Logger, pino } from 'pino';
import { redactJson, redactText } from '../transcript/redact/redact.ts';
import type { Config } from './schema.ts';

export type { Logger };

/** Where lines are written; default stderr, because stdout carries data. */
export interface LogSink {
  write(line: string): void;
}

/**
 * A logger with JSON lines or readable text, without secrets (T87). Values are masked by `redact.ts` before they are
 * encoded, because a secret escaped in JSON would not be recognized.
 */
export function createLogger(
  { level, format: form }: Config['log'],
  { sink = pino.destination({ fd: 2, sync: true }) }: { readonly sink?: LogSink } = {},
): Logger {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redactFields(fields),
      },
      hooks: {
        // Format the message first: a token may be an argument of "Bearer %s".
        logMethod(args, method) {
          const [first, ...rest] = args as unknown[];
          if (typeof first === 'string') method.call(this, redactText(format(first, ...rest)));
          else if (first instanceof Error && rest.length === 0)
            method.call(this, { err: first }, redactText(first.message));
          else if (rest.length === 0) method.call(this, first as object);
          else method.call(this, first as object, redactText(format(...rest)));
        },
      },
      // Errors are converted to fields below, where their text is masked.
      serializers: { err: (error: unknown) => error },
    },
    form === 'pretty' ? { write: (line) => sink.write(prettyLine(line)) } : sink,
  );
  // Fields bound by a child logger pass none of the hooks above. Children inherit these two methods.
  const { child, setBindings } = logger;
  logger.child = function (this: Logger, bindings: Fields, options) {
    return child.call(this, redactFields(bindings), options) as never;
  };
  logger.setBindings = function (this: Logger, bindings: Fields) {
    setBindings.call(this, redactFields(bindings));
  };
  return logger;
}

type Fields = Record<string, unknown>;

function redactFields(fields: Fields): Fields {
  return redactJson(Object.fromEntries(Object.entries(fields).map(([k, v]) => [k, plain(v)]))) as Fields;
}

const MAX_DEPTH = 6;

/** Converts like JSON, but includes the text of errors and limits the depth. */
function plain(value: unknown, depth: number = 0): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '…';
  if (value instanceof Error) return { type: value.name, ...errorFields(value, depth) };
  if ('toJSON' in value && typeof value.toJSON === 'function') return plain(value.toJSON(), depth + 1);
  if (value instanceof Map) return plain(Object.fromEntries(value), depth + 1);
  if (Array.isArray(value)) return value.map((each) => plain(each, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each, depth + 1)]));
}

function errorFields(error: Error, depth: number): Fields {
  const { message, stack, cause, ...rest } = error;
  const own = plain(rest, depth + 1) as Fields;
  return { message, stack, ...own, ...(cause !== undefined && { cause: plain(cause, depth + 1) }) };
}

/** `12:04:05 info  started port=4747`. Only the time of day, because the reader watches it live. */
function prettyLine(line: string): string {
  const { time, level, msg, err, ...fields } = JSON.parse(line) as Fields;
  const at = String(time).slice(11, 19);
  const words = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  const { stack, message } = (err ?? {}) as Fields;
  const trouble =
    err === undefined
      ? ''
      : `\n  ${String(stack ?? message ?? JSON.stringify(err)).replaceAll('\n', '\n  ')}`;
  const head = [at, String(level).padEnd(5), msg, ...words].filter((word) => word !== undefined).join(' ');
  return `${visible(head + trouble)}\n`;
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@*-]+$/.test(value) ? value : JSON.stringify(value);
}

/** Escapes characters that act on a terminal. */
function visible(text: string): string {
  return text.replace(
    /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (c) => `\\u${c.codePointAt(0)?.toString(16).padStart(4, '0')}`,
  );
}
