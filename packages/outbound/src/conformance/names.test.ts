import { describe, expect, test } from '@jest/globals';
import { CLOSED_PORT, type NameReply, testWithLoopbackNetwork, waitFor } from '@postrider/testing';
import { forEachHttpClient, NAME } from '../../test/client-fixture.ts';
import type { EndpointClient } from '../client.ts';
import type { EndpointResult } from '../endpoint-result.ts';
import { AddressGuard } from '../guard/address-guard.ts';
import { NameResolver } from '../resolve/name-resolver.ts';

/** The time limit of an attempt in production. An owner must learn that the name servers are silent. */
const ATTEMPT_MS = 10_000;

forEachHttpClient((fixture) => {
  describe('names', () => {
    test('a name keeps its SNI, its Host and its certificate', async () => {
      const receiver = await fixture.startReceiver();
      const { client } = await fixture.createClientWithNames(() => ({ addresses: ['127.0.0.1'] }));
      expect(await post(client, receiver.url('/', NAME))).toMatchObject({
        kind: 'answered',
        statusCode: 200,
      });
      expect(receiver.requests[0]).toMatchObject({
        serverName: NAME,
        headers: { host: `${NAME}:${receiver.port}` },
      });
    });

    test('the trailing dot of a name goes into neither', async () => {
      const receiver = await fixture.startReceiver();
      const { client } = await fixture.createClientWithNames(() => ({ addresses: ['127.0.0.1'] }));
      expect(await post(client, receiver.url('/', `${NAME}.`))).toMatchObject({
        kind: 'answered',
        statusCode: 200,
      });
      expect(receiver.requests[0]).toMatchObject({
        serverName: NAME,
        headers: { host: `${NAME}:${receiver.port}` },
      });
    });

    test.each<[string, NameReply, string]>([
      ['does not exist', 'nxdomain', `DNS: ${NAME} does not exist`],
      ['has no address', { addresses: [] }, `DNS: ${NAME} has no address`],
      ['leads back to itself', { cname: NAME }, `DNS: ${NAME} has no address`],
      ['is not served', 'servfail', `DNS: no answer for ${NAME} (SERVFAIL)`],
      ['is met with silence', 'silence', `DNS: no answer for ${NAME} (TIMEOUT)`],
    ])('a name that %s is a failed attempt', async (_, reply, error) => {
      const { client } = await fixture.createClientWithNames(() => reply, { timeoutMs: ATTEMPT_MS });
      expect(await post(client, `https://${NAME}/`)).toEqual({ kind: 'failed', cause: 'dns', error });
    });

    test('without a name server that takes queries, the fault is ours: no attempt counts', async () => {
      const resolver = new NameResolver({ servers: [`127.0.0.1:${CLOSED_PORT}`] });
      const posting = post(fixture.createClient({ resolver }), `https://${NAME}/`);
      await expect(posting).rejects.toThrow('no name server could be asked');
    });

    test('the deadline does not wait for the name server', async () => {
      const { client } = await fixture.createClientWithNames(() => 'silence', { timeoutMs: 200 });
      expect(await post(client, `https://${NAME}/`)).toMatchObject({
        cause: 'timeout',
        error: 'timeout after 200 ms',
      });
    });
  });

  describe('the guard while connecting', () => {
    test.each([
      ['the last', (bad: string) => [...Array.from({ length: 99 }, () => '127.0.0.1'), bad]],
      ['the first', (bad: string) => [bad, ...Array.from({ length: 99 }, () => '127.0.0.1')]],
    ])('one refused address among a hundred refuses the delivery, be it %s', async (_, addresses) => {
      const canary = await fixture.startListener();
      const { client } = await fixture.createClientWithNames(() => ({ addresses: addresses('127.0.0.2') }));
      expect(await post(client, `https://${NAME}:${canary.port}/`)).toEqual({
        kind: 'refused',
        error: `refused address 127.0.0.2 (loopback), an address of ${NAME}`,
      });
      expect(canary.connections).toBe(0);
    });

    test('a refused IPv6 address refuses a name whose IPv4 address is fine', async () => {
      const canary = await fixture.startListener();
      const { client } = await fixture.createClientWithNames(() => ({
        addresses: ['127.0.0.1', 'fd00:ec2::254'],
      }));
      expect(await post(client, `https://${NAME}:${canary.port}/`)).toMatchObject({
        kind: 'refused',
        error: `refused address fd00:ec2::254 (private), an address of ${NAME}`,
      });
      expect(canary.connections).toBe(0);
    });

    testWithLoopbackNetwork(
      'a connection asks once: what was judged is what is connected to, however the answer changes',
      async () => {
        const receiver = await fixture.startReceiver();
        const canary = await fixture.startListener(undefined, '127.0.0.2');
        let asked = 0;
        const { client, queries } = await fixture.createClientWithNames((_, type) => {
          if (type === 'AAAA') return { addresses: [] };
          asked += 1;
          return { addresses: [asked === 1 ? '127.0.0.1' : '127.0.0.2'], ttlSeconds: 0 };
        });
        expect(await post(client, receiver.url('/', NAME))).toMatchObject({
          kind: 'answered',
          statusCode: 200,
        });
        expect(queries).toEqual(expect.arrayContaining([`${NAME} A`, `${NAME} AAAA`]));
        expect(queries).toHaveLength(2);
        expect(canary.connections).toBe(0);
      },
    );

    test('a synthesised AAAA record beside an A record does not refuse the delivery', async () => {
      const receiver = await fixture.startReceiver();
      const { client } = await fixture.createClientWithNames((_, type) => ({
        addresses: type === 'A' ? ['127.0.0.1'] : ['64:ff9b::7f00:1'],
      }));
      expect(await post(client, receiver.url('/', NAME))).toMatchObject({
        kind: 'answered',
        statusCode: 200,
      });
    });

    test('one whose IPv4 address inside is refused refuses it, be the prefix known to all or told', async () => {
      const canary = await fixture.startListener();
      for (const prefix of ['64:ff9b::', 'fd00:64::']) {
        const { client } = await fixture.createClientWithNames((asked, type) => {
          if (asked === 'ipv4only.arpa') return { addresses: ['192.0.0.170', `${prefix}c000:aa`] };
          return { addresses: type === 'A' ? ['127.0.0.1'] : [`${prefix}a00:1`] };
        });
        expect(await post(client, `https://${NAME}:${canary.port}/`)).toEqual({
          kind: 'refused',
          error: `refused address 10.0.0.1 (private) by way of ${prefix}a00:1, an address of ${NAME}`,
        });
      }
      expect(canary.connections).toBe(0);
    });

    test('while nobody answers for prefixes an IPv6 address is not connected to, and nothing is dead-lettered', async () => {
      const receiver = await fixture.startReceiver();
      let addresses = ['127.0.0.1', 'fd00:64::7f00:1'];
      const { client } = await fixture.createClientWithNames((asked, type) => {
        if (asked === 'ipv4only.arpa') return type === 'A' ? { addresses: ['192.0.0.170'] } : 'servfail';
        return { addresses };
      });
      expect(await post(client, receiver.url('/', NAME))).toMatchObject({
        kind: 'answered',
        statusCode: 200,
      });
      addresses = ['2a00:64::a00:1'];
      const unknown = { kind: 'failed', cause: 'dns', error: 'DNS: no answer for ipv4only.arpa (SERVFAIL)' };
      expect(await post(client, 'https://other.example.com/')).toEqual(unknown);
      expect(await post(client, 'https://[2a00:64::a00:1]/')).toEqual(unknown);
    });

    test('a literal is judged by the prefixes that are told', async () => {
      const { client } = await fixture.createClientWithNames(() => ({ addresses: ['2a00:64::c000:aa'] }));
      for (let turn = 0; turn < 2; turn += 1) {
        expect(await post(client, 'https://[2a00:64::a00:1]/')).toEqual({
          kind: 'refused',
          error: 'refused address 10.0.0.1 (private) by way of 2a00:64::a00:1',
        });
      }
    });

    test('a refused name is never looked up', async () => {
      const { client, queries } = await fixture.createClientWithNames(() => ({ addresses: ['127.0.0.1'] }));
      for (const host of ['localhost', 'db.internal', 'redis', 'printer.local.']) {
        expect(await post(client, `https://${host}/`)).toMatchObject({ kind: 'refused' });
      }
      expect(queries).toEqual([]);
    });

    test('a connection that came up to a refused address all the same is cut before anything is sent, and counted', async () => {
      const listener = await fixture.startListener();
      // A guard that changes its mind stands for a hole between judging and connecting.
      let judged = 0;
      class WaveringGuard extends AddressGuard {
        override judgeAddress(address: string): string | null {
          return judged++ === 0 ? null : `refused address ${address} (wavering)`;
        }
      }
      const tripped: string[] = [];
      const { client } = await fixture.createClientWithNames(() => ({ addresses: ['127.0.0.1'] }), {
        guard: new WaveringGuard({ allowedNetworks: [] }),
        onTripwire: (address) => tripped.push(address),
      });
      expect(await post(client, `https://${NAME}:${listener.port}/`)).toEqual({
        kind: 'refused',
        error: 'refused address 127.0.0.1 (wavering)',
      });
      expect(tripped).toEqual(['127.0.0.1']);
      await waitFor(() => listener.connections === 1 && listener.openSockets === 0, {
        what: 'the connection to be closed',
      });
      expect(listener.received).toHaveLength(0);
    });
  });
});

function post(client: EndpointClient, endpoint: string): Promise<EndpointResult> {
  return client.post({ endpoint, body: Buffer.from('{"secret":"content"}'), headers: {} });
}
