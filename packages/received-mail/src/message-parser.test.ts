import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleScript, type BundledScript, DIST } from '@postrider/testing';
import { comparable, samples } from '../test/corpus.ts';
import { MessageParser, type MessageParserOptions } from './message-parser.ts';

/** The limit includes the start of a thread. */
const TIMEOUT_MS = 20_000;
/** Long enough for the start of a thread on a busy machine, and short enough to wait for. */
const SHORT_TIMEOUT_MS = 4_000;

const GOOD = message('X-Fault: none', 'all is well');

const REAL = join(DIST, 'parse-thread.js');

let faulty: BundledScript;

beforeAll(() => {
  faulty = bundleScript(new URL('../test/faulty-thread.ts', import.meta.url));
});

afterAll(() => faulty.remove());

function message(header: string, text: string): Buffer {
  return Buffer.from(
    `From: Ann <ann@sender.example>\nTo: bob@inbox.example\nSubject: Hello\n${header}\n` +
      `Content-Type: multipart/mixed; boundary=b\n\n--b\n\n${text}\n` +
      `--b\nContent-Type: text/csv\nContent-Disposition: attachment; filename=a.csv\n\n1,2\n--b--\n`,
  );
}

/** Runs `work` with a parser and closes it afterwards. `lost` has the reason of each lost thread. */
async function withParser(
  options: Partial<MessageParserOptions>,
  work: (parser: MessageParser, lost: readonly string[]) => Promise<void>,
): Promise<void> {
  const lost: string[] = [];
  const parser = new MessageParser({
    threads: 1,
    timeoutMs: TIMEOUT_MS,
    memoryMb: 128,
    script: REAL,
    onThreadLost: (error) => lost.push(error.message),
    ...options,
  });
  try {
    await work(parser, lost);
  } finally {
    await parser.close();
  }
}

/** The record of a message that no thread could read. */
const UNREAD = {
  from: '',
  fromAddresses: null,
  to: [],
  subject: null,
  text: null,
  attachments: [],
  complete: false,
};

const WHOLE = {
  from: 'Ann <ann@sender.example>',
  text: 'all is well',
  attachments: [{ filename: 'a.csv', contentType: 'text/csv', contentId: null, content: '1,2' }],
  complete: true,
};

describe('a parser of messages', () => {
  test('gives the same result in a worker thread as without one', async () => {
    await withParser({ threads: 2, script: pathToFileURL(REAL) }, async (parser, lost) => {
      const parsed = await Promise.all(samples.map(({ name, raw }) => parser.parse(raw, name)));
      for (const [index, { name, expected }] of samples.entries()) {
        const found = parsed[index];
        if (found === undefined) throw new Error(`nothing came back for ${name}`);
        expect(found.attachments.every(({ content }) => Buffer.isBuffer(content))).toBe(true);
        expect({ name, ...comparable(found) }).toMatchObject({ name, ...expected });
      }
      expect(lost).toEqual([]);
    });
  });

  test.each([
    ['takes too long', 'time', /no answer within 4000 ms/],
    ['is never answered', 'silence', /no answer within 4000 ms/],
    ['wants too much memory', 'memory', /memory limit/],
    ['ends its thread', 'exit', /ended with code 7/],
    ['makes its thread crash', 'throw', /a fault that nobody catches/],
  ])('a message that %s harms no other message', async (_title, fault, cause) => {
    const timeoutMs = ['time', 'silence'].includes(fault) ? SHORT_TIMEOUT_MS : TIMEOUT_MS;
    await withParser({ threads: 2, memoryMb: 64, timeoutMs, script: faulty.path }, async (parser, lost) => {
      const bad = parser.parse(message(`X-Fault: ${fault}`, 'never read'), 'a');
      const beside = await Promise.all([parser.parse(GOOD, 'b'), parser.parse(GOOD, 'b')]);
      for (const each of beside) expect(comparable(each)).toMatchObject(WHOLE);
      expect(await bad).toMatchObject(UNREAD);
      expect(lost).toEqual([expect.stringMatching(cause), expect.stringMatching(cause)]);
    });
  });

  test('a message that computes without end is unread', async () => {
    await withParser({ timeoutMs: SHORT_TIMEOUT_MS, script: faulty.path }, async (parser, lost) => {
      expect(await parser.parse(message('X-Fault: computing', 'never read'), 'a')).toMatchObject(UNREAD);
      expect(lost).toEqual(Array(2).fill(expect.stringMatching(/no answer within 4000 ms/)));
    });
  });

  test('a worker thread that is lost is replaced, and waiting messages are read', async () => {
    await withParser({ threads: 1, script: faulty.path }, async (parser, lost) => {
      const bad = message('X-Fault: throw', 'never read');
      const answers = await Promise.all([bad, GOOD, bad, GOOD].map((raw) => parser.parse(raw, 'a')));
      for (const each of [answers[0], answers[2]]) expect(each).toMatchObject(UNREAD);
      for (const each of [answers[1], answers[3]])
        expect(each).toMatchObject({ text: 'all is well', complete: true });
      expect(lost).toHaveLength(4);
    });
  });

  test('a worker thread that crashes after its answer costs no message', async () => {
    let onThreadLost!: (error: Error) => void;
    const lost = new Promise<Error>((resolve) => {
      onThreadLost = resolve;
    });
    await withParser({ threads: 1, script: faulty.path, onThreadLost }, async (parser) => {
      const late = await parser.parse(message('X-Fault: late', 'all is well'), 'a');
      expect(late).toMatchObject({ text: 'all is well', complete: true });
      expect((await lost).message).toBe('a fault after the answer');
      expect(comparable(await parser.parse(GOOD, 'a'))).toMatchObject(WHOLE);
    });
  });

  test('a message whose worker thread is lost to another message is read whole', async () => {
    await withParser({ threads: 1, script: faulty.path }, async (parser, lost) => {
      await parser.parse(message('X-Fault: next', ''), 'a');
      expect(comparable(await parser.parse(GOOD, 'a'))).toMatchObject(WHOLE);
      expect(lost).toEqual(['a fault of the message before']);
    });
  });

  test('each worker thread parses one message at a time', async () => {
    await withParser({ threads: 1, timeoutMs: SHORT_TIMEOUT_MS, script: faulty.path }, async (parser) => {
      const order: string[] = [];
      const note = (name: string) => (): void => void order.push(name);
      await Promise.all([
        parser.parse(message('X-Fault: silence', ''), 'a').then(note('first')),
        parser.parse(GOOD, 'a').then(note('second')),
        parser.parse(GOOD, 'a').then(note('third')),
      ]);
      expect(order).toEqual(['first', 'second', 'third']);
    });
  });

  test('a message for which no thread starts in time rejects, so that its sender sends it again', async () => {
    await withParser({ timeoutMs: 1 }, async (parser, lost) => {
      await expect(parser.parse(GOOD, 'a')).rejects.toThrow('a worker thread did not start');
      expect(lost).toEqual([]);
    });
  });

  test('the bytes stay the caller’s', async () => {
    await withParser({}, async (parser) => {
      const raw = Buffer.alloc(GOOD.length, GOOD); // memory of its own, which could be transferred
      expect(comparable(await parser.parse(raw, 'a'))).toMatchObject(WHOLE);
      expect(raw.equals(GOOD)).toBe(true);
    });
  });

  test('a closed parser rejects: running, waiting and later messages', async () => {
    const lost: string[] = [];
    const options = { threads: 1, timeoutMs: TIMEOUT_MS, memoryMb: 128, script: faulty.path };
    const parser = new MessageParser({ ...options, onThreadLost: (error) => lost.push(error.message) });
    const inFlight = [parser.parse(message('X-Fault: time', 'never read'), 'a'), parser.parse(GOOD, 'a')];
    const settled = Promise.allSettled(inFlight);
    await parser.close();
    const later = [...(await settled), ...(await Promise.allSettled([parser.parse(GOOD, 'a')]))];
    for (const each of later)
      expect(each).toMatchObject({ status: 'rejected', reason: { message: 'the threads are closed' } });
    expect(lost).toEqual([]);
  });

  test('refuses a script that is not there', () => {
    const options = { threads: 1, timeoutMs: 1, memoryMb: 64, script: '/nowhere/parse-thread.js' };
    expect(() => new MessageParser(options)).toThrow('no script for the threads at /nowhere/parse-thread.js');
  });

  test('the code of the main thread cannot parse a message: it contains no mailparser', () => {
    const contains = (script: string) =>
      readFileSync(join(DIST, `${script}.map`), 'utf8').includes('node_modules/mailparser/');
    expect(['inbound.js', 'parse-thread.js'].map(contains)).toEqual([false, true]);
  });
});
