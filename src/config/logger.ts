import { format } from 'node:util';
import { type Logger, pino } from 'pino';
import { redactJson, redactText } from '../transcript/redact/redact.ts';
import type { Config } from './schema.ts';

export type { Logger };

/** Where lines go; unset: stderr, because stdout is data. */
export interface LogSink {
  write(line: string): void;
}

/**
 * Lines for programs or for people, with no secret in them (T87): everything that is logged passes `redact.ts` while
 * it is still a value, because what is escaped in a line of JSON no longer looks like what it was.
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
        // The words of a message are put together first: a token may be an argument of "Bearer %s".
        logMethod(args, method) {
          const [first, ...rest] = args as unknown[];
          if (typeof first === 'string') method.call(this, redactText(format(first, ...rest)));
          else if (first instanceof Error && rest.length === 0)
            method.call(this, { err: first }, redactText(first.message));
          else if (rest.length === 0) method.call(this, first as object);
          else method.call(this, first as object, redactText(format(...rest)));
        },
      },
      // An error is told as fields below, where its words can be masked.
      serializers: { err: (error: unknown) => error },
    },
    form === 'pretty' ? { write: (line) => sink.write(prettyLine(line)) } : sink,
  );
  // What a child says in all its lines passes none of the hooks above. Children inherit these two.
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

/** What JSON would make of it, but with what errors say, and an end. */
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

/** `12:04:05 info  started port=4747`. Only the time of day: whoever reads it is there. */
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

/** What a terminal would act on is shown, not sent. */
function visible(text: string): string {
  return text.replace(
    /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (c) => `\\u${c.codePointAt(0)?.toString(16).padStart(4, '0')}`,
  );
}
