import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { createBoundedGet } from '@postrider/outbound';
import {
  answer,
  createSnsSigner,
  createTestAuthority,
  endlessBody,
  hang,
  type Reaction,
  redirectTo,
  type ScriptedReceiver,
  startScriptedReceiver,
  truncatedBody,
} from '@postrider/testing';
import type { HttpsGet } from './https-get.ts';
import { fetchedCertificates, type SigningCertificates } from './signing-certificates.ts';

let host: ScriptedReceiver;
let certPem: string;
let authorityPem: string;
let get: HttpsGet;
let certificates: SigningCertificates;
let addresses = 0;

beforeAll(async () => {
  const authority = await createTestAuthority();
  authorityPem = authority.caPem;
  host = await startScriptedReceiver({ authority });
  certPem = (await createSnsSigner()).certPem;
  const fetch = createBoundedGet({ timeoutMs: 5000, bodyBytesMax: 16_384, ca: [authority.caPem] });
  get = (url) => fetch(new URL(host.url(url.pathname)));
});
afterAll(() => host.close());

beforeEach(() => {
  certificates = fetchedCertificates({ get });
});

/** An address of its own, and how it is answered. */
function certificateAt(reactions: Reaction[]): URL {
  addresses += 1;
  const hash = addresses.toString(16).padStart(32, '0');
  const url = new URL(`https://sns.us-east-1.amazonaws.com/SimpleNotificationService-${hash}.pem`);
  host.script(url.pathname, reactions);
  return url;
}

function requestsFor(url: URL): number {
  return host.requests.filter(({ path }) => path === url.pathname).length;
}

test('a certificate is fetched by GET from the address that names it', async () => {
  const url = certificateAt([answer(200, { body: certPem })]);
  const found = await certificates.find(url);
  expect(found.kind === 'found' ? found.certificate.toString() : found).toBe(certPem.trim() + '\n');
  expect(host.requests.at(-1)).toMatchObject({ method: 'GET', path: url.pathname });
});

describe('what is kept', () => {
  afterEach(() => void jest.restoreAllMocks());

  test.each([
    ['a certificate is fetched once a day', 200, 24 * 3_600_000],
    ['a failure is kept for five seconds', 503, 5_000],
  ])('%s', async (_, statusCode, keptMs) => {
    let nowMs = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    let requests = 0;
    const counting = fetchedCertificates({
      get: async () => {
        requests += 1;
        return { kind: 'answered', statusCode, body: Buffer.from(certPem) };
      },
    });
    const url = new URL('https://sns.us-east-1.amazonaws.com/kept');
    for (const elapsedMs of [0, keptMs - 1, 2]) {
      nowMs += elapsedMs;
      await delay(10); // the cache reads the clock once in a millisecond
      await counting.find(url);
      expect(requests).toBe(elapsedMs === 2 ? 2 : 1);
    }
  });

  test('those who ask at the same time share one request', async () => {
    const url = certificateAt([answer(200, { body: certPem })]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => certificates.find(url)));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['found']));
    expect(requestsFor(url)).toBe(1);
  });

  test('a failure is the answer for as long as it is kept', async () => {
    const url = certificateAt([answer(503), answer(200, { body: certPem })]);
    const unavailable = { kind: 'unavailable', why: 'HTTP 503' };
    expect(await certificates.find(url)).toEqual(unavailable);
    expect(await certificates.find(url)).toEqual(unavailable);
    expect(requestsFor(url)).toBe(1);
  });

  test('certificates that do not exist never push out a real one', async () => {
    const counted: string[] = [];
    const counting = fetchedCertificates({
      get: async (url) => {
        counted.push(url.pathname);
        return {
          kind: 'answered',
          statusCode: url.pathname === '/real' ? 200 : 404,
          body: Buffer.from(certPem),
        };
      },
    });
    const real = new URL('https://sns.us-east-1.amazonaws.com/real');
    await counting.find(real);
    for (let n = 0; n < 2000; n += 1)
      await counting.find(new URL(`https://sns.us-east-1.amazonaws.com/${n}`));
    expect(await counting.find(real)).toMatchObject({ kind: 'found' });
    expect(counted.filter((path) => path === '/real')).toHaveLength(1);
  });
});

test('of many made-up certificates eight are asked for at a time, and one that is kept is found all the while', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  let asked = 0;
  const gated = fetchedCertificates({
    get: async (url) => {
      asked += 1;
      if (url.pathname !== '/real') await gate;
      return {
        kind: 'answered',
        statusCode: url.pathname === '/real' ? 200 : 404,
        body: Buffer.from(certPem),
      };
    },
  });
  const at = (path: string) => gated.find(new URL(`https://sns.us-east-1.amazonaws.com/${path}`));
  await at('real');
  const made = Array.from({ length: 20 }, (_, n) => at(String(n)));
  expect(await at('one-more')).toEqual({
    kind: 'unavailable',
    why: 'too many certificates are being fetched',
  });
  expect(await at('real')).toMatchObject({ kind: 'found' });
  open();
  await Promise.all(made);
  expect(asked).toBe(1 + 8);
  expect(await at('later')).toEqual({ kind: 'unavailable', why: 'HTTP 404' });
});

describe('there is no certificate', () => {
  test.each<[string, Reaction, string]>([
    ['when the answer is 404', answer(404, { body: 'none' }), 'HTTP 404'],
    ['when it was moved: no redirect is followed', redirectTo('/elsewhere'), 'HTTP 302'],
    ['in a page of text', answer(200, { body: '<html></html>' }), 'what was fetched is no RSA certificate'],
    ['in an empty answer', answer(200), 'what was fetched is no RSA certificate'],
    ['in an endless answer', endlessBody(), 'response larger than 16384 bytes'],
  ])('%s', async (_, reaction, why) => {
    expect(await certificates.find(certificateAt([reaction]))).toEqual({ kind: 'unavailable', why });
    expect(host.requests.filter(({ path }) => path === '/elsewhere')).toHaveLength(0);
  });

  test('in an answer that breaks off', async () => {
    expect(await certificates.find(certificateAt([truncatedBody()]))).toMatchObject({ kind: 'unavailable' });
  });

  test('when no answer comes in time', async () => {
    const impatient = createBoundedGet({ timeoutMs: 200, bodyBytesMax: 16_384, ca: [authorityPem] });
    const url = certificateAt([hang()]);
    const found = fetchedCertificates({ get: () => impatient(new URL(host.url(url.pathname))) });
    expect(await found.find(url)).toEqual({ kind: 'unavailable', why: 'timeout after 200 ms' });
  });
});

test('a fault of this machine reaches the caller and is not kept', async () => {
  let calls = 0;
  const faulty = fetchedCertificates({
    get: async () => {
      calls += 1;
      throw new Error('EMFILE');
    },
  });
  const url = new URL('https://sns.us-east-1.amazonaws.com/any');
  await expect(faulty.find(url)).rejects.toThrow('EMFILE');
  await expect(faulty.find(url)).rejects.toThrow('EMFILE');
  expect(calls).toBe(2);
});
