import { describe, expect, test } from '@jest/globals';
import {
  cleanUpAfterEach,
  CLOSED_PORT,
  type FakeRspamd,
  type RspamdBehaviour,
  startFakeRspamd,
  startTcpListener,
} from '@postrider/testing';
import { ENVELOPE } from '../../test/sender-fixture.ts';
import type { Envelope } from '../verdicts.ts';
import { RspamdScanner } from './rspamd.ts';
import type { RspamdOptions } from './rspamd.ts';
import { ScreeningUnavailableError } from './screening-unavailable-error.ts';

const RAW = Buffer.from('Subject: hello\r\n\r\nHello\r\n');

const atEnd = cleanUpAfterEach();

async function start(behaviour?: RspamdBehaviour): Promise<FakeRspamd> {
  const rspamd = await startFakeRspamd();
  atEnd(() => rspamd.close());
  if (behaviour !== undefined) rspamd.behaviour = behaviour;
  return rspamd;
}

const OPTIONS = { spamThreshold: null, clientIsSender: true, timeoutMs: 20_000 };

function scan(address: string, options: Partial<RspamdOptions> = {}, envelope: Partial<Envelope> = {}) {
  const [host = '', port] = address.split(':');
  const scanner = new RspamdScanner({ target: { host, port: Number(port) }, ...OPTIONS, ...options });
  return scanner.scan(RAW, { ...ENVELOPE, ...envelope });
}

describe('rspamd is told', () => {
  test('the message and its envelope', async () => {
    const rspamd = await start();
    await scan(rspamd.address, {}, { rcptTo: ['a@inbound.test', 'b@inbound.test'] });
    expect(rspamd.scans).toMatchObject([
      {
        method: 'POST',
        path: '/checkv2',
        message: RAW,
        headers: {
          ip: ['192.0.2.10'],
          helo: ['mx.example.com'],
          from: ['bounces@example.com'],
          rcpt: ['a@inbound.test', 'b@inbound.test'],
        },
      },
    ]);
  });

  test('addresses beyond ASCII as UTF-8, and none that break out of a header', async () => {
    const rspamd = await start();
    await scan(
      rspamd.address,
      {},
      { mailFrom: 'jörg@example.com', helo: 'a\r\nIP: 127.0.0.1\0', rcptTo: [] },
    );
    const headers = rspamd.scans[0]?.headers;
    expect(Buffer.from(headers?.['from']?.[0] ?? '', 'latin1').toString()).toBe('jörg@example.com');
    expect(headers).toMatchObject({ helo: ['aIP: 127.0.0.1'], ip: ['192.0.2.10'] });
  });

  test('nothing of a client that is not the sender’s server', async () => {
    const rspamd = await start();
    await scan(rspamd.address, { clientIsSender: false });
    const { headers, message } = rspamd.scans[0] ?? {};
    expect(headers).toMatchObject({ from: ['bounces@example.com'], rcpt: [...ENVELOPE.rcptTo] });
    expect(headers).not.toHaveProperty('ip');
    expect(headers).not.toHaveProperty('helo');
    expect(message).toEqual(RAW);
  });
});

describe('spam by the threshold', () => {
  test.each([
    [14.9, false],
    [15, false],
    [15.1, true],
    [-3, false],
  ])('at a score of %d', async (score, spam) => {
    const rspamd = await start({ score, action: spam ? 'no action' : 'reject' });
    expect(await scan(rspamd.address, { spamThreshold: 15 })).toBe(spam);
  });
});

describe('spam by the action, without a threshold', () => {
  test.each([
    ['reject', true],
    ['add header', true],
    ['rewrite subject', true],
    ['no action', false],
    ['greylist', false],
    ['soft reject', false],
  ])('%s', async (action, spam) => {
    const rspamd = await start({ score: 7.5, action });
    expect(await scan(rspamd.address)).toBe(spam);
  });
});

describe('rspamd gives no verdict', () => {
  test.each<[string, RspamdBehaviour, string | RegExp]>([
    ['when it hangs', 'hang', 'rspamd: no answer within 300 ms'],
    ['when it hangs up', 'close', /^rspamd: (socket hang up|.*ECONNRESET)/],
    [
      'when it fails',
      { status: 500, body: '{"score":1,"action":"no action"}' },
      'rspamd: answered with status 500',
    ],
    ['when it redirects', { status: 302, body: '' }, 'rspamd: answered with status 302'],
    ['when it answers garbage', { status: 200, body: '<html>' }, 'rspamd: answered what cannot be read'],
    [
      'when it answers without a score',
      { status: 200, body: '{"action":"no action"}' },
      'rspamd: answered what cannot be read',
    ],
    [
      'when it answers with too much',
      { status: 200, body: Buffer.alloc(1_100_000) },
      'rspamd: answered with more than 1048576 bytes',
    ],
  ])('%s', async (_, behaviour, error) => {
    const rspamd = await start(behaviour);
    const failure = scan(rspamd.address, behaviour === 'hang' ? { timeoutMs: 300 } : {});
    await expect(failure).rejects.toThrow(ScreeningUnavailableError);
    await expect(failure).rejects.toThrow(error);
  });

  test.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['half an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"score":1'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
  ])('when it answers %s and hangs up', async (_, answer) => {
    const listener = await startTcpListener((socket) => socket.once('data', () => socket.end(answer)));
    atEnd(() => listener.close());
    await expect(scan(`127.0.0.1:${listener.port}`)).rejects.toThrow(ScreeningUnavailableError);
  });

  test('when its answer drips', async () => {
    const listener = await startTcpListener((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const timer = setInterval(() => socket.write(' '), 20);
      socket.once('close', () => clearInterval(timer));
    });
    atEnd(() => listener.close());
    await expect(scan(`127.0.0.1:${listener.port}`, { timeoutMs: 300 })).rejects.toThrow(
      'no answer within 300 ms',
    );
  });

  test('when it is away', async () => {
    await expect(scan(`127.0.0.1:${CLOSED_PORT}`)).rejects.toThrow(/^rspamd: connect ECONNREFUSED/);
  });
});
