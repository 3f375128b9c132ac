import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
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
  waitFor,
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
  test('a certificate is fetched once, and again when it is too old', async () => {
    const url = certificateAt([]);
    host.always(url.pathname, answer(200, { body: certPem }));
    await certificates.find(url);
    expect(await certificates.find(url)).toMatchObject({ kind: 'found' });
    expect(requestsFor(url)).toBe(1);
    const impatient = fetchedCertificates({ get, cachedMs: 1 });
    await waitFor(async () => (await impatient.find(url)).kind === 'found' && requestsFor(url) > 2, {
      what: 'another request',
    });
  });

  test('those who ask at the same time share one request', async () => {
    const url = certificateAt([answer(200, { body: certPem })]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => certificates.find(url)));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['found']));
    expect(requestsFor(url)).toBe(1);
  });

  test('a failure is kept, and its certificate is fetched again after a time', async () => {
    const url = certificateAt([answer(503), answer(503), answer(200, { body: certPem })]);
    const unavailable = { kind: 'unavailable', why: 'HTTP 503' };
    expect(await certificates.find(url)).toEqual(unavailable);
    expect(await certificates.find(url)).toEqual(unavailable);
    expect(requestsFor(url)).toBe(1);
    const impatient = fetchedCertificates({ get, failureCachedMs: 1 });
    expect(await impatient.find(url)).toEqual(unavailable);
    await waitFor(async () => (await impatient.find(url)).kind === 'found', { what: 'the certificate' });
    expect(requestsFor(url)).toBe(3);
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
