import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { verifySignature } from '@postrider/receiver';
import { answer, describeWithRedis, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { Stripe } from 'stripe';
import { fetchAgainOn429 } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System, SystemOptions } from './start-system.ts';

let system: System;

/** Signatures carry whole seconds. The second attempt comes over a second later, so its signature differs. */
const FAST_RETRIES = { DELIVERY_RETRY_DELAYS_SECONDS: '1.1,0.1,0.1,0.1,0.1,0.1,0.1' };

function deliveryTests(options: SystemOptions): void {
  let api: SystemProcess;

  beforeAll(async () => {
    system = await startSystem({ ...options, env: FAST_RETRIES });
    [api] = await system.startAll(['api', 'relay', 'worker']);
  });
  afterAll(() => system.close());
  afterEach(() => system.reset());

  test('an event reaches its endpoint, our receiver and the SDK of Stripe accept its signature, and nothing stays outstanding', async () => {
    const { signingSecret } = await system.webhook('/hook');
    const [eventId] = await system.record(1);
    const [request] = await system.receiver.waitForRequests(1);
    expect(request).toMatchObject({
      method: 'POST',
      path: '/hook',
      headers: {
        'content-type': 'application/json',
        'service-event-id': eventId,
        'service-event-type': 'email.sent',
      },
    });
    const header = String(request?.headers['service-signature']);
    const body = request?.body ?? '';
    verifySignature({ header, body, secret: signingSecret });
    const read: unknown = new Stripe('sk_test_unused').webhooks.constructEvent(body, header, signingSecret);
    expect(read).toMatchObject({ id: eventId, type: 'email.sent', subject: system.accountId });
    expect(read).toEqual(JSON.parse(String(body)));
    await system.drained();
  });

  test('a customer reads what the endpoint answered to each attempt', async () => {
    system.receiver.script('/hook', [answer(503, { body: 'busy' })]);
    const { id } = await system.webhook('/hook');
    const [eventId] = await system.record(1);
    await system.drained();
    const url = `http://127.0.0.1:${await api.port()}/v1/webhooks/${id}/attempts`;
    const response = await fetchAgainOn429(url, { headers: { authorization: `Bearer ${system.apiKey}` } });
    expect(response.status).toBe(200);
    const each = { object: 'attempt', event_id: eventId, type: 'email.sent' };
    expect(await response.json()).toMatchObject({
      has_more: false,
      data: [
        { ...each, attempt: 2, status_code: 200, error: null },
        { ...each, attempt: 1, status_code: 503, error: 'HTTP 503', response: 'busy' },
      ],
    });
  });
}

describe('with the queue in Postgres', () => {
  deliveryTests({});

  test('a failed attempt is made again with the same bytes and a fresh signature; the eighth is the last', async () => {
    system.receiver.always('/down', answer(503));
    const { signingSecret } = await system.webhook('/down');
    await system.record(1);
    await system.drained();
    const requests = system.receiver.requests;
    expect(requests).toHaveLength(8);
    expect(new Set(requests.map((request) => String(request.body))).size).toBe(1);
    const [first, second, ...others] = requests.map(({ headers, body }) => {
      const header = String(headers['service-signature']);
      verifySignature({ header, body, secret: signingSecret });
      return header;
    });
    for (const later of [second, ...others]) expect(later).not.toBe(first);
    const [letter] = await system.db.query('select * from dead_letters');
    expect(letter).toMatchObject({
      reason: 'attempts_exhausted',
      attempts: 8,
      status_code: 503,
      last_error: 'HTTP 503',
    });
  });

  test('a 410 dead-letters at once as rejected', async () => {
    system.receiver.always('/gone', answer(410));
    await system.webhook('/gone');
    await system.record(1);
    await system.drained();
    expect(system.receiver.requests).toHaveLength(1);
    const letters = await system.db.query('select * from dead_letters');
    expect(letters).toMatchObject([{ reason: 'rejected', attempts: 1, status_code: 410 }]);
  });
});
describeWithRedis('with the queue in Redis', (redisUrl) => deliveryTests({ redisUrl }));

/** Runs in a worker. Prints which HTTP client makes each request: got adds `timings` to its requests. */
const PRINT_HTTP_CLIENT = `
  import { subscribe } from 'node:diagnostics_channel';
  subscribe('http.client.request.start', ({ request }) => console.error('timings' in request ? 'got' : 'https'));
`;

describe('with settings that each test chooses', () => {
  /** The process of the test, with the roles relay and worker. */
  let all: SystemProcess;

  beforeAll(async () => {
    system = await startSystem({ env: { ROLES: 'relay,worker' } });
  });
  afterAll(() => system.close());
  afterEach(async () => {
    await system.reset();
    await all.stop();
  });

  test('a worker never connects to a private address, or to a denied network inside an allowed one: the delivery dead-letters at once as rejected, without an attempt', async () => {
    all = await system.start('all', {
      DELIVERY_ALLOWED_NETWORKS: '127.0.0.0/8',
      DELIVERY_DENIED_NETWORKS: '10.0.0.0/8,127.0.0.1/32',
    });
    await system.webhook('/hook');
    await system.webhook('https://192.168.0.1/');
    await system.record(1);
    await system.drained();
    expect(system.receiver.connections).toBe(0);
    const rejected = { reason: 'rejected', attempts: 0, status_code: null };
    expect(await system.db.query('select * from dead_letters order by last_error')).toMatchObject([
      { ...rejected, last_error: 'refused address 127.0.0.1 (denied network)' },
      { ...rejected, last_error: 'refused address 192.168.0.1 (private)' },
    ]);
    expect(await system.db.query('select from attempts')).toEqual([]);
  });

  test.each([
    ['https', {}],
    ['got', { DELIVERY_HTTP_CLIENT: 'got' }],
  ])('a worker delivers with the HTTP client %s under the settings %j', async (client, env) => {
    await system.webhook('/hook');
    const program = `data:text/javascript,${encodeURIComponent(PRINT_HTTP_CLIENT)}`;
    all = await system.start('all', { ...env, NODE_OPTIONS: `--import ${program}` });
    await system.record(1);
    await system.drained();
    await waitFor(() => all.stderr.length > 0, { what: 'the worker to print its client' });
    expect(all.stderr).toEqual([client]);
  });
});
