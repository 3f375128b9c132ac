import { Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { createLogger, type LoggerOptions } from './create-logger.ts';

const clock = { now: () => new Date('2026-01-02T03:04:05.678Z') };

function logged(options: Partial<LoggerOptions> = {}) {
  const chunks: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, callback) => {
      chunks.push(chunk);
      callback();
    },
  });
  const logger = createLogger({ level: 'debug', service: 'test', stream, clock, ...options });
  const text = () => chunks.join('');
  const lines = () =>
    text()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { logger, text, lines };
}

test('a line is one JSON object: time, level, msg and service, then the fields in their order', () => {
  const { logger, text } = logged();
  logger.info('delivery.attempted', { delivery_id: 'dl_1', attempt: 2, status: null, ok: false });
  expect(text()).toBe(
    '{"time":"2026-01-02T03:04:05.678Z","level":"info","msg":"delivery.attempted","service":"test",' +
      '"delivery_id":"dl_1","attempt":2,"status":null,"ok":false}\n',
  );
});

test('a line break in a message or a field does not break the line', () => {
  const { logger, text, lines } = logged();
  logger.warn('a\nb\u2028c', { error: 'd\r\ne\u2029f' });
  expect(text().split(/[\n\r\u2028\u2029]/)).toHaveLength(2);
  expect(lines()).toMatchObject([{ msg: 'a\nb\u2028c', error: 'd\r\ne\u2029f' }]);
});

describe('levels', () => {
  const written = (level: LoggerOptions['level']) => {
    const { logger, lines } = logged({ level });
    logger.debug('d');
    logger.info('i');
    logger.warn('w');
    logger.error('e');
    return lines().map((line) => line['msg']);
  };

  test.each([
    ['debug', ['d', 'i', 'w', 'e']],
    ['info', ['i', 'w', 'e']],
    ['warn', ['w', 'e']],
    ['error', ['e']],
    ['silent', []],
  ] as const)('%s writes %j', (level, messages) => {
    expect(written(level)).toEqual(messages);
  });
});

test('a field with the name or the form of a secret is redacted', () => {
  const { logger, text } = logged();
  logger.info('hello', { authorization: 'Bearer x1', url: 'redis://:x2@r' });
  expect(text()).toContain('hello');
  expect(text()).not.toMatch(/x1|x2/);
});

test("a field with one of the line's own names gets a prefix", () => {
  const { logger, lines } = logged();
  logger.info('hello', { msg: 'a', level: 'b', time: 'c', service: 'd' });
  expect(lines()).toEqual([
    {
      time: '2026-01-02T03:04:05.678Z',
      level: 'info',
      msg: 'hello',
      service: 'test',
      field_msg: 'a',
      field_level: 'b',
      field_time: 'c',
      field_service: 'd',
    },
  ]);
});

test('a secret in the message is masked', () => {
  const { logger, lines } = logged();
  logger.error('cannot use pr_live_abc-DEF_123 at postgres://app:hunter2@db/x');
  expect(lines()[0]?.['msg']).toBe('cannot use pr_live_[redacted] at postgres://app:***@db/x');
});

test.each(['EPIPE', 'ENOSPC', 'EIO'])('a log that cannot be written does not end the process: %s', (code) => {
  const stream = new Writable({ write: (_chunk, _encoding, callback) => callback() });
  createLogger({ level: 'info', service: 'test', stream });
  createLogger({ level: 'info', service: 'test', stream });
  expect(stream.listenerCount('error')).toBe(1);
  expect(() => stream.emit('error', Object.assign(new Error(`write ${code}`), { code }))).not.toThrow();
});

test('thousands of lines at once all arrive, in order', () => {
  const { logger, lines } = logged();
  for (let n = 0; n < 5000; n += 1) logger.info('line', { n });
  expect(lines().map((line) => line['n'])).toEqual(Array.from({ length: 5000 }, (_value, n) => n));
});

test('a line is written at once, and adds no turn of the event loop', () => {
  const immediates = () => process.getActiveResourcesInfo().filter((name) => name === 'Immediate').length;
  const { logger, lines } = logged();
  const before = immediates();
  logger.info('line');
  expect(lines()).toHaveLength(1);
  expect(immediates()).toBe(before);
});
