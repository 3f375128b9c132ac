import { createHook } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestAuthority, startScriptedReceiver } from '@postrider/testing';
import { EndpointClient, HTTP_CLIENTS, parseEndpoint } from '../client.ts';
import { createGuardedLookup } from '../resolve/guarded-lookup.ts';
import { NameLookupError, type NameResolver } from '../resolve/name-resolver.ts';
import { Nat64 } from '../resolve/nat64.ts';
import { AddressGuard } from './address-guard.ts';

/**
 * One endpoint, what its name resolves to (one answer, or one per lookup), and whether a delivery may go
 * there.
 */
interface Row {
  url: string;
  expect: 'refuse' | 'allow';
  why: string;
  stage: 'registration' | 'delivery' | 'both';
  policy?: string;
  resolves_to?: string | string[];
  resolves_to_sequence?: string[][];
  /** The AAAA records of `ipv4only.arpa`. */
  ipv4only?: string[];
  /** `DELIVERY_DENIED_NETWORKS` */
  denied?: string[];
}

const corpus = JSON.parse(
  readFileSync(new URL('../../test/ssrf-corpus.json', import.meta.url), 'utf8'),
) as Row[];
const refused = corpus.filter((row) => row.expect === 'refuse');
const allowed = corpus.filter((row) => row.expect === 'allow');
const guardOf = ({ denied = [] }: Row) => new AddressGuard({ allowedNetworks: [], deniedNetworks: denied });

/** Every TCP connection that Node begins passes through one of these, whatever library began it. */
let connects = 0;
const hook = createHook({
  init(_id, type) {
    if (type === 'TCPCONNECTWRAP') connects += 1;
  },
});
beforeAll(() => void hook.enable());
afterAll(() => void hook.disable());
beforeEach(() => {
  connects = 0;
});

describe.each(HTTP_CLIENTS)('every endpoint that must be refused, over %s', (httpClient) => {
  const close: (() => void)[] = [];
  afterEach(() => close.splice(0).forEach((end) => end()));

  test.each(refused)('$url: $why', async (row) => {
    const lookups = answersOf(row);
    const resolver = createScriptedResolver(lookups, row.ipv4only);
    // Earlier lookups, at registration or in a check, used all answers except the last.
    for (let asked = 1; asked < lookups.length; asked += 1) await resolver.resolve('earlier.example.net');
    const client = new EndpointClient({
      httpClient,
      guard: guardOf(row),
      resolver,
      timeoutMs: 5000,
      socketsPerHost: 1,
    });
    close.push(() => client.close());

    const answer = await client.post({ endpoint: row.url, body: Buffer.from('{}'), headers: {} });

    // The one row about a name without an address is a failed attempt, not a refusal.
    expect(answer.kind).toBe(row.policy === 'dns-failure-is-a-failed-attempt' ? 'failed' : 'refused');
    expect(connects).toBe(0);
  });
});

describe('every endpoint that must be allowed', () => {
  test.each(allowed)('$url: $why', async (row) => {
    const url = parseEndpoint(row.url);
    if (typeof url === 'string') throw new Error(url);
    const guard = guardOf(row);
    expect(guard.judgeHost(url.hostname)).toBeNull();
    for (const answer of answersOf(row)) {
      const resolver = createScriptedResolver([answer], row.ipv4only);
      const lookup = createGuardedLookup(guard, resolver, new Nat64(resolver));
      const handed = await new Promise((resolve, reject) => {
        lookup(url.hostname, { all: true }, (error, found) =>
          error === null ? resolve(found) : reject(error),
        );
      });
      expect(handed).toEqual(answer.map((address) => ({ address, family: isIP(address) })));
    }
  });
});

test('the corpus is whole', () => {
  expect(refused.length + allowed.length).toBe(corpus.length);
  expect(corpus.length).toBe(213);
});

test.each(HTTP_CLIENTS)('the count of connections counts those of %s', async (httpClient) => {
  const authority = await createTestAuthority();
  const receiver = await startScriptedReceiver({ authority });
  const excusing = new AddressGuard({ allowedNetworks: ['127.0.0.1/32'] });
  const client = new EndpointClient({
    httpClient,
    guard: excusing,
    timeoutMs: 5000,
    socketsPerHost: 1,
    ca: [authority.caPem],
  });
  await client.post({ endpoint: receiver.url('/'), body: Buffer.from('{}'), headers: {} });
  expect(connects).toBe(1);
  client.close();
  await receiver.close();
});

function answersOf(row: Row): string[][] {
  if (row.resolves_to_sequence !== undefined) return row.resolves_to_sequence;
  return row.resolves_to === undefined ? [] : [[row.resolves_to].flat()];
}

/** Gives its answers one after another and fails when it is asked once more than it has answers. */
function createScriptedResolver(
  answers: string[][],
  ipv4only: string[] = [],
): Pick<NameResolver, 'resolve' | 'resolveIpv6'> {
  const left = [...answers];
  return {
    async resolve(hostname) {
      const next = left.shift();
      if (next === undefined) throw new Error(`unexpected lookup of ${hostname}`);
      if (next.length === 0) throw new NameLookupError(`DNS: ${hostname} has no address`);
      return next;
    },
    resolveIpv6: async () => ipv4only,
  };
}
