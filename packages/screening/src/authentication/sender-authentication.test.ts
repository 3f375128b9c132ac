import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bundleScript } from '@postrider/testing';
import type { BundledScript } from '@postrider/testing';
import { SenderAuthentication } from './sender-authentication.ts';

const ENVELOPE = { remoteAddress: '192.0.2.1', helo: 'mail.example', mailFrom: '', rcptTo: [] };
const PASS = {
  auth: { spf: 'pass', dkim: 'pass', dmarc: 'pass' },
  dmarcPolicy: 'none',
  isAuthorUnavailable: false,
};
const UNKNOWN = {
  auth: { spf: 'temperror', dkim: 'temperror', dmarc: 'fail' },
  dmarcPolicy: 'quarantine',
  isAuthorUnavailable: false,
};

let faulty: BundledScript;
let real: BundledScript;

beforeAll(() => {
  faulty = bundleScript(new URL('../../test/faulty-thread.ts', import.meta.url));
  real = bundleScript(new URL('authenticate-thread.ts', import.meta.url));
});
afterAll(() => {
  faulty.remove();
  real.remove();
});

function open(
  { path }: BundledScript,
  lost: string[],
  { spf = false, timeoutMs = 4_000 } = {},
): SenderAuthentication {
  return new SenderAuthentication({
    // No name server listens there. Without SPF, no message here needs one.
    authentication: { dnsServers: ['127.0.0.1:9'], timeoutMs: 500, spf },
    pool: {
      threads: 1,
      timeoutMs,
      memoryMb: 128,
      script: path,
      onThreadLost: (error) => lost.push(error.message),
    },
  });
}

test('a message without a sender gets the same verdict in a worker thread as without one', async () => {
  const lost: string[] = [];
  const authentication = open(real, lost);
  const raw = Buffer.from('Subject: Hi\r\n\r\nHi\r\n');
  expect(await authentication.authenticate(raw, ENVELOPE)).toEqual({
    auth: { spf: 'none', dkim: 'none', dmarc: 'fail' },
    dmarcPolicy: 'quarantine',
    isAuthorUnavailable: false,
  });
  expect(raw.toString()).toBe('Subject: Hi\r\n\r\nHi\r\n');
  await authentication.close();
  expect(lost).toEqual([]);
});

test('10 MiB of From fields fail DMARC, and cost no thread', async () => {
  const lost: string[] = [];
  const authentication = open(real, lost, { spf: true, timeoutMs: 60_000 });
  const raw = Buffer.alloc(10 * 1_048_576, 'From:\n');
  const { auth, dmarcPolicy } = await authentication.authenticate(raw, ENVELOPE);
  await authentication.close();
  expect({ lost, dmarc: auth.dmarc, dmarcPolicy }).toEqual({
    lost: [],
    dmarc: 'fail',
    dmarcPolicy: 'quarantine',
  });
});

test.each(['throw', 'exit', 'silence'])(
  'a message that costs its worker thread (%s) fails, and waiting messages are judged',
  async (fault) => {
    const lost: string[] = [];
    const authentication = open(faulty, lost);
    const verdicts = await Promise.all(
      [fault, 'good', fault, 'good'].map((text) => authentication.authenticate(Buffer.from(text), ENVELOPE)),
    );
    expect(verdicts).toEqual([UNKNOWN, PASS, UNKNOWN, PASS]);
    await authentication.close();
    expect(lost).toHaveLength(4);
  },
);

test('a running and a later message reject after the close, and no thread counts as lost', async () => {
  const lost: string[] = [];
  const authentication = open(faulty, lost);
  const judge = async (text: string) => authentication.authenticate(Buffer.from(text), ENVELOPE);
  const inFlight = expect(judge('silence')).rejects.toThrow('the threads are closed');
  await authentication.close();
  await inFlight;
  await expect(judge('good')).rejects.toThrow('the threads are closed');
  expect(lost).toEqual([]);
});
