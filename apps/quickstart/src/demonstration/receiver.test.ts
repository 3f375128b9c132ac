import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { signatureHeader } from '@postrider/domain';
import { parseEvent } from '@postrider/receiver';
import { listen, waitFor } from '@postrider/testing';
import { makeLoopbackCertificate } from './certificates.ts';
import type { Certificate } from '@postrider/embedded';
import { Receiver } from './receiver.ts';
import type { Arrival } from './receiver.ts';

const SECRET = 'whsec_test';
const EVENT = { id: 'evt_1', type: 'email.sent', data: { email_id: 'em_1' } };
const BODY = JSON.stringify(EVENT);

let certificate: Certificate;
let receiver: Receiver;
let arrivals: Arrival[];
let refusals: string[];

beforeAll(async () => {
  certificate = await makeLoopbackCertificate(new Date());
});
beforeEach(async () => {
  arrivals = [];
  refusals = [];
  receiver = await start(0);
});
afterEach(() => receiver.close());

const start = (port: number, forward: URL | null = null) =>
  Receiver.start(port, {
    certificate,
    forward,
    signatureHeader: 'service-signature',
    onArrival: (arrival) => arrivals.push(arrival),
    onRefusal: (words) => refusals.push(words),
  });

/** A client that trusts only this certificate, like the worker. */
async function post(secret: string, body = BODY, path = '/events'): Promise<number | undefined> {
  return (await exchange(secret, body, path)).status;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function exchange(
  secret: string,
  body = BODY,
  path = '/events',
  { signal, onHead = () => undefined }: { signal?: AbortSignal; onHead?: () => void } = {},
): Promise<Answer> {
  const signature = signatureHeader(secret, Buffer.from(body), new Date());
  return new Promise((resolve, reject) => {
    const outgoing = request(
      receiver.endpoint.replace('/events', path),
      {
        method: 'POST',
        ca: certificate.certPem,
        agent: false,
        headers: { 'service-signature': signature },
        signal,
      },
      (response) => {
        const { statusCode: status, headers } = response;
        onHead();
        text(response).then((answered) => resolve({ status, headers, body: answered }), reject);
      },
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

describe('the receiver', () => {
  test('accepts an event with a valid signature, with a certificate that the client trusts', async () => {
    receiver.trust(SECRET);
    expect(await post(SECRET)).toBe(204);
    expect(arrivals).toEqual([{ event: EVENT, receivedAtMs: expect.any(Number), again: false }]);
    expect(refusals).toEqual([]);
  });

  test('marks an event that arrived before', async () => {
    receiver.trust(SECRET);
    await post(SECRET);
    await post(SECRET);
    expect(arrivals.map(({ again }) => again)).toEqual([false, true]);
  });

  test('refuses and reports a signature of another secret', async () => {
    receiver.trust(SECRET);
    expect(await post('whsec_other')).toBe(401);
    expect(arrivals).toEqual([]);
    expect(refusals).toEqual([expect.stringContaining('no signature matches')]);
  });

  test('answers 503 until it knows the secret', async () => {
    expect(await post(SECRET)).toBe(503);
  });

  test('answers 404 on other paths, and 413 to a body larger than any event', async () => {
    receiver.trust(SECRET);
    expect(await post(SECRET, BODY, '/')).toBe(404);
    expect(await post(SECRET, 'x'.repeat(1_048_577))).toBe(413);
  });

  describe('with --forward', () => {
    let target: Awaited<ReturnType<typeof listen>>;
    let seen: { url: string | undefined; headers: string[]; body: string }[];
    let answer: (response: ServerResponse) => void;
    beforeEach(async () => {
      seen = [];
      answer = (response) => response.writeHead(204).end();
      const handler = async (incoming: IncomingMessage, response: ServerResponse) => {
        seen.push({ url: incoming.url, headers: incoming.rawHeaders, body: await text(incoming) });
        answer(response);
      };
      target = await listen(createServer((incoming, response) => void handler(incoming, response)));
      await receiver.close();
      receiver = await start(0, new URL(`http://127.0.0.1:${target.port}/hook?a=b`));
      receiver.trust(SECRET);
    });
    afterEach(() => target.close());

    test('passes an event on with its bytes and headers, and answers what the target answers', async () => {
      answer = (response) => response.writeHead(503, { 'Retry-After': '9', 'X-Own': 'yes' }).end('busy');
      const { status, headers, body } = await exchange(SECRET);
      expect({ status, body, own: headers['x-own'] }).toEqual({ status: 503, body: 'busy', own: 'yes' });
      expect(headers['retry-after']).toBe('9');
      expect(seen).toEqual([{ url: '/hook?a=b', headers: expect.any(Array), body: BODY }]);
      const passed = seen[0]?.headers ?? [];
      const valueOf = (name: string) => passed[passed.indexOf(name) + 1];
      expect(parseEvent({ header: valueOf('service-signature'), body: BODY, secret: SECRET })).toEqual(EVENT);
      expect(valueOf('Host')).toBe(`127.0.0.1:${target.port}`);
      expect(arrivals).toHaveLength(1);
      expect(refusals).toEqual([]);
    });

    test('answers 502 and names the reason when the target is away or breaks off', async () => {
      answer = (response) => response.destroy();
      expect((await exchange(SECRET)).status).toBe(502);
      await target.close();
      const { status, body } = await exchange(SECRET);
      expect(status).toBe(502);
      expect(body).toContain(`/hook?a=b does not answer: connect ECONNREFUSED 127.0.0.1:${target.port}`);
      expect(refusals).toEqual([expect.stringContaining('socket hang up'), body.trim()]);
      target = await listen(createServer());
    });

    test('breaks its own answer off when the target resets its connection after the head', async () => {
      let held: ServerResponse | undefined;
      answer = (response) => {
        held = response.writeHead(200);
        response.write('d');
      };
      const onHead = () => held?.socket?.resetAndDestroy();
      await expect(exchange(SECRET, BODY, '/events', { onHead })).rejects.toThrow('aborted');
      await waitFor(() => refusals.length > 0, { what: 'the refusal' });
      expect(refusals).toEqual([expect.stringContaining('/hook?a=b does not answer: ')]);
      answer = (response) => response.writeHead(204).end();
      expect(await post(SECRET)).toBe(204);
    });

    test('leaves the target when the worker has stopped waiting', async () => {
      const closed = new Promise((resolve) => (answer = (response) => void response.once('close', resolve)));
      const worker = new AbortController();
      const waiting = exchange(SECRET, BODY, '/events', { signal: worker.signal });
      await waitFor(() => seen.length === 1, { what: 'the event to be passed on' });
      worker.abort();
      await expect(waiting).rejects.toThrow('aborted');
      await closed;
    });

    test('passes nothing on without a valid signature', async () => {
      expect(await post('whsec_other')).toBe(401);
      expect(seen).toEqual([]);
    });
  });

  test('uses the port of the last start, or another when that is taken', async () => {
    const other = await start(receiver.port);
    expect(other.port).not.toBe(receiver.port);
    const { port } = other;
    await other.close();
    const again = await start(port);
    expect(again.port).toBe(port);
    await again.close();
  });
});
