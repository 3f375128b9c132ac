import { setImmediate as nextIteration } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { blobIdOf, BlobStoreUnavailableError } from '@postrider/blobs';
import type { AccountId, MessageId } from '@postrider/domain';
import { parseMessage } from '../../../../packages/received-mail/test/parse-message.ts';
import type { MessageParser } from '@postrider/received-mail';
import { createLogger, createMetrics } from '@postrider/runtime';
import type { Metrics } from '@postrider/runtime';
import { ScreeningUnavailableError } from '@postrider/screening';
import { StoreUnavailableError, SweptBlobsError } from '@postrider/store';
import type { IncomingMessage, Reception, StoredMessage } from '@postrider/store';
import { streamInto } from '@postrider/testing';
import { MailPipeline } from './mail-pipeline.ts';
import type { Mail } from './mail-pipeline.ts';
import { AuthorUnavailableError } from './screening.ts';

const TRACE = 'Received: from a.example\r\n';
const CONTENT = Buffer.from(
  [
    'From: Ann <Ann@Shop.example>',
    'Subject: confidential',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    '',
    'Hello',
    '--b',
    'Content-Type: application/pdf; name=a.pdf',
    '',
    '%PDF',
    '--b--',
    '',
  ].join('\r\n'),
);
const CLEAN = { auth: { spf: 'pass', dkim: 'none', dmarc: 'none' }, heldReason: null } as const;

const stored = (status: 'received' | 'held'): StoredMessage => ({
  id: `msg_${status}` as MessageId,
  accountId: 'acct_1' as AccountId,
  status,
  heldReason: status === 'held' ? 'spam' : null,
});
const RECEIVED: Reception = { kind: 'stored', messages: [stored('received')] };

/** The steps in order. */
let steps: string[];
let messages: IncomingMessage[];
let lines: string[];
let metrics: Metrics<'inbound'>;

beforeEach(() => {
  [steps, messages, lines] = [[], [], []];
  metrics = createMetrics('inbound', { processMetrics: false });
});

interface Options {
  readonly mail?: Partial<Mail>;
  readonly receive?: () => Promise<Reception>;
  readonly put?: (bytes: Buffer) => Promise<void>;
  readonly parse?: MessageParser['parse'];
}

/** Processes the message. Every dependency is in memory. */
async function take({
  mail,
  receive = async () => RECEIVED,
  put = async () => undefined,
  parse = async (raw) => parseMessage(raw),
}: Options = {}) {
  const pipeline = new MailPipeline({
    logger: createLogger({ level: 'debug', service: 'inbound', stream: streamInto(lines) }),
    metrics,
    parser: { parse },
    blobs: {
      async put(bytes) {
        await put(bytes);
        steps.push(`put ${bytes.length}`);
        return blobIdOf(bytes);
      },
    },
    store: {
      async receive(message) {
        steps.push('store');
        messages.push(message);
        return receive();
      },
      forgetSwept: async () => undefined,
    },
  });
  return pipeline.process({
    raw: Buffer.concat([Buffer.from(TRACE), CONTENT]),
    content: CONTENT,
    client: '192.0.2.1',
    mailFrom: 'bounce@mailer.example',
    recipients: ['a@in.example'],
    logFields: { session_id: 's1' },
    screen: async () => CLEAN,
    ...mail,
  });
}

const counted = async () =>
  (await metrics.inboundMessages.get()).values
    .filter(({ value }) => value > 0)
    .map(({ labels: { result, reason }, value }) => [result, reason, value]);

describe('a message', () => {
  test('is stored after its bytes and its attachments, each under its digest', async () => {
    expect(await take()).toEqual(RECEIVED);
    expect(steps).toEqual([`put ${TRACE.length + CONTENT.length}`, 'put 4', 'store']);
    expect(messages).toMatchObject([
      {
        blob: blobIdOf(Buffer.concat([Buffer.from(TRACE), CONTENT])),
        attachments: [{ filename: 'a.pdf', size: 4, blob: blobIdOf(Buffer.from('%PDF')) }],
      },
    ]);
  });

  test('is recognised by its content, without the header that we add', async () => {
    await take();
    await take({ mail: { raw: CONTENT } });
    const [one, other] = messages;
    expect(one?.digest).toEqual(other?.digest);
    expect(messages.map(({ size }) => size)).toEqual([CONTENT.length, CONTENT.length]);
  });

  test('is another message in another envelope, and the same one for the same recipients in any order', async () => {
    const to = ['a@in.example', 'b@in.example'];
    const mails: Partial<Mail>[] = [
      { recipients: to },
      { recipients: to.toReversed() },
      { recipients: ['a+x@in.example', 'b@in.example'] },
      { recipients: to, mailFrom: 'other@mailer.example' },
      { recipients: to, content: Buffer.concat([CONTENT, Buffer.from('\r\n')]) },
    ];
    for (const mail of mails) await take({ mail });
    const digests = messages.map(({ digest }) => digest.toString('hex'));
    expect(digests[1]).toBe(digests[0]);
    expect(new Set(digests).size).toBe(4);
  });

  test('can be blocked by its From and by the sender of its envelope', async () => {
    await take();
    expect(messages[0]?.senders).toEqual(['ann@shop.example', 'bounce@mailer.example']);
  });

  test('whose author cannot be told is held, and can be blocked by everybody who blocks anybody', async () => {
    const second = Buffer.from('From: ann@shop.example\r\n');
    await take({ mail: { content: Buffer.concat([second, CONTENT]) } });
    expect(messages).toMatchObject([
      { senders: null, auth: { spf: 'pass', dmarc: 'fail' }, heldReason: 'auth_failed' },
    ]);
  });

  test('whose author cannot be told keeps the reason for which it is held already', async () => {
    const second = Buffer.from('From: ann@shop.example\r\n');
    const screen = async () => ({ ...CLEAN, heldReason: 'virus' }) as const;
    await take({ mail: { content: Buffer.concat([second, CONTENT]), screen } });
    expect(messages).toMatchObject([{ senders: null, auth: { dmarc: 'fail' }, heldReason: 'virus' }]);
  });

  test('that no thread could read is stored with its envelope and its bytes, and held', async () => {
    const unread = { ...(await parseMessage(Buffer.from(''))), complete: false };
    await take({ parse: async () => unread });
    expect(steps).toEqual([`put ${TRACE.length + CONTENT.length}`, 'store']);
    expect(messages).toMatchObject([
      { recipients: ['a@in.example'], complete: false, senders: null, heldReason: 'auth_failed' },
    ]);
  });

  test.each([
    ['the null sender', '', CONTENT, true],
    [
      'a program, by its own words',
      'a@a.example',
      Buffer.from('From: a@a.example\r\nPrecedence: list\r\n\r\nHi\r\n'),
      true,
    ],
    ['a person', 'a@a.example', CONTENT, false],
  ])('of %s says whether it is automatic', async (_, mailFrom, content, automatic) => {
    await take({ mail: { mailFrom, content } });
    expect(messages).toMatchObject([{ automatic }]);
  });

  test.each([
    ['its bytes and its attachments', CONTENT, 2],
    ['its bytes alone when it has no attachment', Buffer.from('From: a@a.example\r\n\r\nHi\r\n'), 1],
  ])('is timed by stage: %s', async (_, content, blobs) => {
    await take({ mail: { content } });
    const { values } = await metrics.inboundStageDuration.get();
    const ofStages = values.filter(({ metricName }) => metricName?.endsWith('_count') === true);
    expect(ofStages.map(({ labels, value }) => [labels.stage, value])).toEqual(
      expect.arrayContaining([
        ['blobs', blobs],
        ['parse', 1],
        ['store', 1],
      ]),
    );
  });
});

describe('the result of a message is counted and logged, with ids and no content', () => {
  test.each<[string, Options, (string | number)[][], string]>([
    ['received', {}, [['received', '', 1]], 'message.received'],
    [
      'received once and held once',
      { receive: async () => ({ kind: 'stored', messages: [stored('received'), stored('held')] }) },
      [
        ['received', '', 1],
        ['held', 'spam', 1],
      ],
      'message.held',
    ],
    ['nobody', { receive: async () => ({ kind: 'nobody' }) }, [['nobody', '', 1]], 'message.nobody'],
    [
      'later, for Postgres',
      { receive: async () => Promise.reject(new StoreUnavailableError(new Error('away'))) },
      [['later', 'postgres', 1]],
      'message not stored',
    ],
    [
      'later, for the blob store',
      { put: async () => Promise.reject(new BlobStoreUnavailableError('away')) },
      [['later', 'blobs', 1]],
      'message not stored',
    ],
    [
      'later, for a scanner',
      { mail: { screen: async () => Promise.reject(new ScreeningUnavailableError('clamd', 'away')) } },
      [['later', 'screening', 1]],
      'message not stored',
    ],
    [
      'later, for the name servers of a stranger',
      { mail: { screen: async () => Promise.reject(new AuthorUnavailableError()) } },
      [['later', 'author_dns', 1]],
      'message not stored',
    ],
    [
      'later, for a fault of our own',
      { mail: { screen: async () => Promise.reject(new Error('a bug')) } },
      [['later', 'other', 1]],
      'message not stored',
    ],
  ])('%s', async (title, wish, counts, said) => {
    const { kind } = await take(wish);
    expect(kind).toBe(title.split(/[ ,]/)[0]?.replace('received', 'stored'));
    expect(await counted()).toEqual(counts);
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toContain(said);
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({ session_id: 's1' });
      expect(line).not.toMatch(/confidential|Hello|shop\.example|mailer\.example|in\.example|a\.pdf/);
    }
  });

  test('repeated', async () => {
    await take({ receive: async () => ({ kind: 'stored', messages: [] }) });
    expect(await counted()).toEqual([['repeated', '', 1]]);
  });

  test('is not stored when it cannot be judged, or when its bytes cannot be stored', async () => {
    await take({ put: async () => Promise.reject(new BlobStoreUnavailableError('away')) });
    await take({ mail: { screen: async () => Promise.reject(new Error('a bug')) } });
    expect(steps).not.toContain('store');
  });
});

test.each([
  ['are written four at a time', false, 10],
  ['are not begun any more after one could not be written', true, 4],
])('attachments %s', async (_, isAway, begun) => {
  const files = Array.from(
    { length: 9 },
    (__, n) => `--b\r\nContent-Type: application/pdf\r\n\r\n%PD${n}\r\n`,
  );
  const content = Buffer.from(String(CONTENT).replace('--b--', `${files.join('')}--b--`));
  let [count, inFlight, most] = [0, 0, 0];
  const put = async ({ length }: Buffer) => {
    if (length !== 4) return;
    [count, inFlight] = [count + 1, inFlight + 1];
    most = Math.max(most, inFlight);
    await nextIteration();
    inFlight -= 1;
    if (isAway) throw new BlobStoreUnavailableError('away');
  };
  expect(await take({ mail: { content }, put })).toMatchObject({ kind: isAway ? 'later' : 'stored' });
  expect([count, most]).toEqual([begun, 4]);
});

describe('the bytes of a message that cannot be stored count until the last reader ends:', () => {
  const isAway = async () => Promise.reject(new BlobStoreUnavailableError('away'));
  const TWO_FILES = Buffer.from(
    String(CONTENT).replace('--b--', '--b\r\nContent-Type: application/pdf; name=b.pdf\r\n\r\n%FDP\r\n--b--'),
  );

  test.each<[string, (held: Promise<void>) => Options]>([
    [
      'the blob store is away, and a scanner reads',
      (held) => ({ put: isAway, mail: { screen: async () => held.then(() => CLEAN) } }),
    ],
    [
      'the threads are closed, and the blob store reads',
      (held) => ({ parse: async () => Promise.reject(new Error('closed')), put: async () => held }),
    ],
    [
      'a scanner is away, and a thread reads',
      (held) => ({
        mail: { screen: async () => Promise.reject(new ScreeningUnavailableError('clamd', 'away')) },
        parse: async (raw) => held.then(() => parseMessage(raw)),
      }),
    ],
    [
      'one attachment is not stored, and another one is being stored',
      (held) => ({
        mail: { content: TWO_FILES },
        put: async (bytes) => {
          if (bytes.length === 4) await (String(bytes) === '%PDF' ? isAway() : held);
        },
      }),
    ],
    [
      'it is put again after a sweep, and an attachment of it is being put',
      (held) => {
        let isSwept = false;
        return {
          async receive() {
            isSwept = true;
            return Promise.reject(new SweptBlobsError([]));
          },
          put: async (bytes) => {
            if (isSwept) await (bytes.length === 4 ? held : isAway());
          },
        };
      },
    ],
  ])('%s', async (_, wish) => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    let outcome: unknown = 'held';
    const taking = take(wish(held)).then((taken) => (outcome = taken));
    // Parsing and storing take some iterations of the event loop.
    for (let n = 0; n < 1_000; n += 1) await nextIteration();
    expect(outcome).toBe('held');
    letGo();
    expect(await taking).toEqual({ kind: 'later' });
  });
});
