import { spawnSync } from 'node:child_process';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { Stripe } from 'stripe';
import { SignatureVerificationError, verifySignature } from './index.ts';
import { verifySignature as verifyWithWebCrypto } from './web.ts';

/** An entry of vectors.json, which is published with the package. Every way to verify must agree on it. */
interface Vector {
  readonly name: string;
  readonly secret: string;
  readonly header: string;
  readonly body: string;
  /** Unix seconds. */
  readonly now: number;
  /** `accepted`, or the reason of the refusal. */
  readonly result: string;
}

const fileAt = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const vectors = JSON.parse(fileAt('../vectors.json')) as Vector[];
const named = vectors.map((vector): [string, Vector] => [vector.name, vector]);

const accepts = ({ result }: Vector): boolean => result === 'accepted';
const signed = ({ header, body, secret, now }: Vector) => ({
  header,
  body,
  secret,
  now: new Date(now * 1000),
});

/** `accepted`, or the reason of the refusal. */
async function verdict(verify: () => unknown): Promise<string> {
  try {
    await verify();
    return 'accepted';
  } catch (error) {
    if (error instanceof SignatureVerificationError) return error.reason;
    throw error;
  }
}

/** The function `verify` of a page's snippet. */
function verifyOf(page: string, language: 'python' | 'js'): string {
  const text = fileAt(`../../../docs/${page}`);
  const pattern = language === 'python' ? /^def verify\(.*\n(?: .*\n)+/gm : /^function verify\([^]*?^\}/gm;
  const found = [...text.matchAll(pattern)].map(([code]) => code);
  expect(found).toHaveLength(1);
  return found[0] ?? '';
}

test('the vectors have every kind of result, and no name twice', () => {
  expect(new Set(vectors.map(({ result }) => result))).toEqual(
    new Set(['accepted', 'no-header', 'malformed', 'no-match', 'timestamp-outside-window']),
  );
  expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length);
});

describe.each<[string, typeof verifySignature | typeof verifyWithWebCrypto]>([
  ['the main entry', verifySignature],
  ['the entry for Web Crypto', verifyWithWebCrypto],
])('%s agrees with the vectors', (_entry, verify) => {
  test.each(named)('%s', async (_name, vector) => {
    expect(await verdict(() => verify(signed(vector)))).toBe(vector.result);
    const body = new TextEncoder().encode(vector.body);
    expect(await verdict(() => verify({ ...signed(vector), body }))).toBe(vector.result);
    expect(await verdict(() => verify({ ...signed(vector), body: body.buffer }))).toBe(vector.result);
  });
});

describe("Stripe's SDK agrees with the vectors", () => {
  const { signature } = new Stripe('sk_test_unused').webhooks;
  if (signature === null) throw new Error('the SDK has no verification');
  /** Our contract refuses a time "too far from its clock" (6.3). Stripe refuses only an old one. */
  const isFuture = ({ result, header, now }: Vector): boolean =>
    result === 'timestamp-outside-window' && Number(/t=(\d+)/.exec(header)?.[1]) > now;
  /** Stripe reads the time as a number, so it expects a signature of the time without leading zeros. */
  const hasLeadingZero = ({ header }: Vector): boolean => header.startsWith('t=0');
  /** Stripe takes an empty body for a missing one. */
  const expected = (vector: Vector): boolean =>
    hasLeadingZero(vector) ? !accepts(vector) : (accepts(vector) || isFuture(vector)) && vector.body !== '';

  test.each(named)('%s', (_name, vector) => {
    const verify = () =>
      signature.verifyHeader(vector.body, vector.header, vector.secret, 300, undefined, vector.now * 1000);
    if (expected(vector)) expect(verify()).toBe(true);
    else expect(verify).toThrow();
  });
});

test('the snippet for Node in docs/api.md agrees with the vectors', () => {
  const code = `${verifyOf('api.md', 'js')}; verify(header, Buffer.from(body))`;
  const answers = vectors.map((vector): [string, unknown] => {
    const Date = { now: () => vector.now * 1000 };
    return [vector.name, runInNewContext(code, { ...vector, Date, Buffer, createHmac, timingSafeEqual })];
  });
  expect(answers).toEqual(vectors.map((vector) => [vector.name, accepts(vector)]));
});

describe('the snippet for Python agrees with the vectors', () => {
  const hasPython = spawnSync('python3', ['--version']).status === 0;
  const testEachPage = hasPython ? test.each : test.skip.each;

  testEachPage(['verify-signatures.md', 'api.md'])(
    `in docs/%s${hasPython ? '' : ' (skipped: no python3 on PATH)'}`,
    (page) => {
      const program = `
import hashlib, hmac, json, sys, time
${verifyOf(page, 'python')}
given = verify.__code__.co_argcount - len(verify.__defaults__ or ())
for vector in json.load(open(sys.argv[1], encoding="utf-8")):
    secret = vector["secret"]
    time.time = lambda: float(vector["now"])
    answer = verify(*[vector["header"], vector["body"].encode(), secret][:given])
    print(json.dumps([vector["name"], answer]))
print(json.dumps(["no header", verify(*[None, b"{}", "whsec_a"][:given])]))
`;
      const path = fileURLToPath(new URL('../vectors.json', import.meta.url));
      const { stdout, stderr } = spawnSync('python3', ['-c', program, path], { encoding: 'utf8' });
      expect(stderr).toBe('');
      const answers = stdout.trim().split('\n');
      expect(answers.map((line): unknown => JSON.parse(line))).toEqual([
        ...vectors.map((vector) => [vector.name, accepts(vector)]),
        ['no header', false],
      ]);
    },
  );
});
