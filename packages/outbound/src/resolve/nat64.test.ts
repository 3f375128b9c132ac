import { afterEach, expect, test } from '@jest/globals';
import { type DnsServer, type NameReply, startNameServer, waitFor } from '@postrider/testing';
import { NameResolver } from './name-resolver.ts';
import { Nat64 } from './nat64.ts';

const OWN: NameReply = { addresses: ['192.0.0.170', 'fd00:64::c000:aa', 'fd00:64::c000:ab'] };
const NONE: NameReply = { addresses: ['192.0.0.170', '192.0.0.171'] };
const SERVFAIL_OF_AAAA = 'DNS: no answer for ipv4only.arpa (SERVFAIL)';
/** An address that may lie behind a prefix. */
const ANY = ['2a00:64::1'];

let server: DnsServer | null = null;
let resolver: NameResolver | null = null;

afterEach(async () => {
  resolver?.close();
  await server?.close();
});

/** The name servers answer A in every case, and AAAA as the test says. */
async function start(first: NameReply) {
  let reply = first;
  let nowMs = 0;
  server = await startNameServer((name, type) => {
    expect(name).toBe('ipv4only.arpa');
    return type === 'A' ? NONE : reply;
  });
  resolver = new NameResolver({ servers: [server.address] });
  const nat64 = new Nat64(resolver, () => nowMs);
  return {
    nat64,
    queries: server.questions,
    answers: (next: NameReply) => void (reply = next),
    advance: (ms: number) => void (nowMs += ms),
    isOwnKnown: () => nat64.ipv4Inside('fd00:64::a00:1').length > 0,
  };
}

test('the well-known prefix is known without asking, another one once it was asked for', async () => {
  const { nat64, queries } = await start(OWN);
  expect(nat64.ipv4Inside('64:ff9b::a00:1')).toEqual(['10.0.0.1']);
  expect(nat64.ipv4Inside('fd00:64::a00:1')).toEqual([]);
  await nat64.learn(ANY);
  expect(nat64.ipv4Inside('64:ff9b::a00:1')).toEqual(['10.0.0.1']);
  expect(new Set(nat64.ipv4Inside('fd00:64::a00:1'))).toEqual(new Set(['10.0.0.1']));
  expect(queries).toEqual(['ipv4only.arpa AAAA']);
});

test('addresses that no translator makes are no reason to ask', async () => {
  const { nat64, queries } = await start(OWN);
  expect(nat64.learn(['192.0.2.1', '::1', 'fe80::1'])).toBeUndefined();
  expect(queries).toEqual([]);
});

test.each<NameReply>([NONE, 'nxdomain'])(
  'it is asked once a minute, and an answer without prefixes takes them back (%j)',
  async (gone) => {
    const { nat64, queries, answers, advance, isOwnKnown } = await start(OWN);
    await nat64.learn(ANY);
    advance(60_000);
    expect(nat64.learn(ANY)).toBeUndefined();
    expect(queries).toHaveLength(1);
    answers(gone);
    advance(1);
    expect(nat64.learn(ANY)).toBeUndefined();
    await waitFor(() => !isOwnKnown(), { what: 'the prefix to go' });
  },
);

test('the AAAA question that fails leaves the prefixes, and comes again within seconds', async () => {
  const { nat64, queries, answers, advance, isOwnKnown } = await start(OWN);
  await nat64.learn(ANY);
  answers('servfail');
  advance(60_001);
  void nat64.learn(ANY);
  for (let failures = 0; failures < 3; failures += 1) {
    const asked = queries.length;
    // The next question is asked only once the last one has failed.
    const again = () => {
      advance(5_000);
      void nat64.learn(ANY);
      return queries.length > asked + 1;
    };
    await waitFor(again, { what: 'the question to come again' });
    expect(isOwnKnown()).toBe(true);
  }
  answers(NONE);
  const gone = () => {
    advance(5_000);
    void nat64.learn(ANY);
    return !isOwnKnown();
  };
  await waitFor(gone, { what: 'the prefix to go' });
});

test('until the first answer nothing is known: learning rejects, and is tried again within seconds', async () => {
  const { nat64, answers, advance, isOwnKnown } = await start('servfail');
  await expect(nat64.learn(ANY)).rejects.toThrow(SERVFAIL_OF_AAAA);
  answers(OWN);
  await expect(nat64.learn(ANY)).rejects.toThrow(SERVFAIL_OF_AAAA);
  advance(5_000);
  await nat64.learn(ANY);
  expect(isOwnKnown()).toBe(true);
});
