import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bundleScript, DIST } from '@postrider/testing';
import type { BundledScript } from '@postrider/testing';
import {
  ENVELOPE as SENT,
  message,
  newSigner,
  signed,
  startSenderFixture,
} from '../../test/sender-fixture.ts';
import { SenderAuthentication } from './sender-authentication.ts';

const ENVELOPE = { client: 'a', remoteAddress: '192.0.2.1', helo: 'mail.example', mailFrom: '', rcptTo: [] };
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
/** The script of the build, alone in its folder. */
let real: { readonly path: string };

beforeAll(() => {
  faulty = bundleScript(new URL('../../test/faulty-thread.ts', import.meta.url));
  real = { path: join(mkdtempSync(join(tmpdir(), 'screening-')), 'thread.mjs') };
  copyFileSync(join(DIST, 'authenticate-thread.js'), real.path);
});
afterAll(() => {
  faulty.remove();
  rmSync(dirname(real.path), { recursive: true });
});

// No name server listens there. Without SPF, no message without a signature needs one.
const NO_SERVER = '127.0.0.1:9';

function open(
  { path }: { readonly path: string },
  lost: string[],
  { spf = false, timeoutMs = 20_000, dnsServer = NO_SERVER, dnsTimeoutMs = 500 } = {},
): SenderAuthentication {
  return new SenderAuthentication({
    authentication: { dnsServers: [dnsServer], timeoutMs: dnsTimeoutMs, spf },
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

test('a signed message is verified in a worker thread, from one file with nothing beside it', async () => {
  const fixture = await startSenderFixture();
  const signer = newSigner('example.com');
  fixture.publish(signer);
  fixture.dns.zone.set('_dmarc.example.com', { TXT: ['v=DMARC1; p=reject'] });
  fixture.dns.zone.set('example.com', { TXT: ['v=spf1 ip4:192.0.2.10 -all'] });
  const lost: string[] = [];
  const dns = { dnsServer: fixture.dns.address, dnsTimeoutMs: 20_000 };
  const authentication = open(real, lost, { ...dns, spf: true, timeoutMs: 60_000 });
  expect(await authentication.authenticate(await signed(message(), signer), SENT)).toMatchObject({
    auth: { spf: 'pass', dkim: 'pass', dmarc: 'pass' },
    dmarcPolicy: 'reject',
  });
  await authentication.close();
  await fixture.close();
  expect(lost).toEqual([]);
});

test('a message that costs its worker thread fails, and waiting messages are judged', async () => {
  const lost: string[] = [];
  const authentication = open(faulty, lost);
  const verdicts = await Promise.all(
    ['throw', 'good', 'throw', 'good'].map((text) =>
      authentication.authenticate(Buffer.from(text), ENVELOPE),
    ),
  );
  expect(verdicts).toEqual([UNKNOWN, PASS, UNKNOWN, PASS]);
  await authentication.close();
  expect(lost).toHaveLength(4);
});

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
