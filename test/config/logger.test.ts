import { describe, expect, test } from 'vitest';
import { createLogger, type Logger } from '../../src/config/logger.ts';
import { RepriseError } from '../../src/errors.ts';

const KEY = 'sk-ant-api03-0123456789abcdef';
const SECRETS = [KEY, 'tok3n-of-the-caller', 'pa55word', 'sid=12345', 'letters-only'];

function logged(format: 'json' | 'pretty', say: (logger: Logger) => void): string {
  const lines: string[] = [];
  say(createLogger({ level: 'info', format }, { sink: { write: (line) => lines.push(line) } }));
  return lines.join('');
}

/** Every way a line can come to hold something. */
function sayEverything(logger: Logger): void {
  const cause = new Error(`refused ${KEY}`);
  const error = new RepriseError('MODEL_AUTH', `the key ${KEY} is wrong`, {
    details: { apiKey: 'letters-only', url: 'https://ada:pa55word@host/' },
    cause,
  });
  logger.info(`with ${KEY}`);
  logger.info('Bearer %s', 'tok3n-of-the-caller');
  logger.info({ url: 'postgres://ada:pa55word@host/db' }, 'opened %s', KEY);
  logger.info({ headers: { authorization: 'Bearer tok3n-of-the-caller', cookie: 'sid=12345' } });
  logger.warn({ err: error }, 'a call failed');
  logger.error(error);
  logger.child({ apiKey: 'letters-only', url: `https://x/?key=${KEY}` }).info('from a child');
  logger
    .child({ a: 1 })
    .child({ token: 'tok3n-of-the-caller' })
    .info({ deep: { deeper: [{ note: KEY }] } }, 'grandchild');
  logger.info({ map: new Map([['password', 'pa55word']]), when: new Date(0), big: 5n });
}

describe('the log', () => {
  test.each(['json', 'pretty'] as const)('has no secret in any line, as %s (T87)', (format) => {
    const text = logged(format, sayEverything);
    expect(text.match(/a call failed/g)).toHaveLength(1);
    expect(text).toContain('grandchild');
    for (const secret of SECRETS) expect(text).not.toContain(secret);
  });

  test('as json is one object a line, with the facts of errors', () => {
    const lines = logged('json', sayEverything)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toHaveLength(9);
    for (const line of lines) expect(line['time']).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(lines[4]).toMatchObject({
      level: 'warn',
      msg: 'a call failed',
      err: { type: 'RepriseError', code: 'MODEL_AUTH', cause: { type: 'Error' }, stack: expect.any(String) },
    });
    expect(lines[8]).toMatchObject({ when: '1970-01-01T00:00:00.000Z', big: '5' });
  });

  test('as pretty is for people, and control characters do not reach their terminal', () => {
    const text = logged('pretty', (logger) => {
      logger.info({ port: 4747, name: 'two words' }, 'started');
      logger.warn('red \u001b[31m and \u202e back \u009b');
    });
    expect(text).toMatch(/^\d\d:\d\d:\d\d info {2}started port=4747 name="two words"\n/);
    expect(text).not.toMatch(/[\u001b\u202e\u009b]/);
  });

  test('writes what its level allows', () => {
    const lines: string[] = [];
    const logger = createLogger(
      { level: 'warn', format: 'json' },
      { sink: { write: (line) => lines.push(line) } },
    );
    logger.info('no');
    logger.warn('yes');
    expect(lines).toHaveLength(1);
  });

  test('handles circular values', () => {
    const loop: Record<string, unknown> = { name: 'loop' };
    loop['self'] = loop;
    expect(logged('json', (logger) => logger.info(loop, 'round'))).toContain('"msg":"round"');
  });
});
