import { setImmediate as nextImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { CLOSED_PORT, runs, waitFor } from '@postrider/testing';
import { forEachHttpClient } from '../../test/client-fixture.ts';
import { startThreadedReceiver, type ThreadedReceiver } from '../../test/threaded-receiver.ts';
import { HTTP_CLIENTS } from '../client.ts';
import type { EndpointClient } from '../client.ts';
import { NameLookupError, type NameResolver } from '../resolve/name-resolver.ts';

/* A worker may meet 200,000 hosts in an hour, and need not meet them again. */

type TestResolver = Pick<NameResolver, 'resolve' | 'resolveIpv6'>;

const resolveIpv6 = async () => [];
const LOOPBACK: TestResolver = { resolve: async () => ['127.0.0.1'], resolveIpv6 };
const NOWHERE: TestResolver = {
  resolveIpv6,
  resolve: (name) => Promise.reject(new NameLookupError(`DNS: ${name} does not exist`)),
};
const HOSTS_AT_ONCE = 16;
/** The clients whose answered posts are measured. In the usual run https alone: both have the same agent. */
const ANSWERED = HTTP_CLIENTS.slice(0, runs({ usual: 1, long: HTTP_CLIENTS.length }));
/** That many kept connections take twice `NOISE_BYTES`. */
const HOSTS_MEASURED = runs({ usual: 320, long: 800 });
/** A connection that is kept takes over 10 KB. Garbage collection alone makes up to 900 KB of difference. */
const NOISE_BYTES = 1_500_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function heapBytes(): Promise<number> {
  // Node closes handles at the end of a turn of the event loop, after its immediates.
  for (let turn = 0; turn < 2; turn += 1) await nextImmediate();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Posts once to each host. @returns the kinds and causes of the answers. */
async function meet(
  client: EndpointClient,
  port: number | string,
  { from, count }: { from: number; count: number },
): Promise<Set<string>> {
  const outcomes = new Set<string>();
  for (let n = from; n < from + count; n += HOSTS_AT_ONCE) {
    const answers = Array.from({ length: HOSTS_AT_ONCE }, (_, index) =>
      client.post({
        endpoint: `https://c${n + index}.hooks.example.com:${port}/`,
        body: Buffer.from('{}'),
        headers: {},
      }),
    );
    for (const answer of await Promise.all(answers)) {
      outcomes.add(answer.kind === 'failed' ? answer.cause : answer.kind);
    }
    await nextImmediate(); // resolvers answer within the same turn; without this one no handle would be closed
  }
  return outcomes;
}

forEachHttpClient((fixture) => {
  describe('hosts that are met once', () => {
    test.each([
      ['whose names nobody knows', NOWHERE, 'dns'],
      ['that refuse the connection', LOOPBACK, 'connect'],
    ])(
      '%s leave nothing behind',
      async (_, resolver, outcome) => {
        const client = fixture.createClient({ resolver });
        await meet(client, CLOSED_PORT, { from: 0, count: 800 });
        const before = await heapBytes();
        expect(await meet(client, CLOSED_PORT, { from: 800, count: 1_200 })).toEqual(new Set([outcome]));
        expect((await heapBytes()) - before).toBeLessThan(NOISE_BYTES);
      },
      90_000,
    );

    if (!ANSWERED.includes(fixture.httpClient)) return;
    test('and answer leave next to nothing behind', async () => {
      const receiver = await startThreadedReceiver(fixture.authority, ['*.hooks.example.com']);
      fixture.atEnd(() => receiver.close());
      const client = fixture.createClient({ idleMs: 10, resolver: LOOPBACK });
      const { port } = new URL(receiver.url());
      // The TLS sessions of 1,000 hosts are kept: these are there before it is measured.
      await meet(client, port, { from: 0, count: 1_040 });
      const before = await heapBytesWithout(receiver);
      expect(await meet(client, port, { from: 1_040, count: HOSTS_MEASURED })).toEqual(new Set(['answered']));
      expect((await heapBytesWithout(receiver)) - before).toBeLessThan(NOISE_BYTES);
    });
  });
});

/** Once the receiver has no connection any more. */
async function heapBytesWithout(receiver: ThreadedReceiver): Promise<number> {
  await waitFor(() => receiver.openSockets() === 0, { what: 'every connection to be closed' });
  return heapBytes();
}
