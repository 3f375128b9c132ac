import { request } from 'node:https';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { signatureHeader } from '@postrider/domain';
import { makeLoopbackCertificate } from './certificates.ts';
import type { LoopbackCertificate } from './certificates.ts';
import { Receiver } from './receiver.ts';
import type { Arrival } from './receiver.ts';

const SECRET = 'whsec_test';
const EVENT = { id: 'evt_1', type: 'email.sent', data: { email_id: 'em_1' } };
const BODY = JSON.stringify(EVENT);

let certificate: LoopbackCertificate;
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

const start = (port: number) =>
  Receiver.start(port, {
    certificate,
    signatureHeader: 'service-signature',
    onArrival: (arrival) => arrivals.push(arrival),
    onRefusal: (words) => refusals.push(words),
  });

/** A client that trusts only this certificate, like the worker. */
async function post(secret: string, body = BODY, path = '/events'): Promise<number | undefined> {
  const signature = signatureHeader(secret, Buffer.from(body), new Date());
  return new Promise((resolve, reject) => {
    const outgoing = request(
      receiver.endpoint.replace('/events', path),
      {
        method: 'POST',
        ca: certificate.certPem,
        agent: false,
        headers: { 'service-signature': signature },
      },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode));
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
