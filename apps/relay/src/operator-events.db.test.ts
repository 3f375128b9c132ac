import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { verifySignature } from '@postrider/receiver';
import { createMetrics } from '@postrider/runtime';
import { createOperatorEventStore } from '@postrider/store';
import { systemClock } from '@postrider/testing';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { setupRelayStore } from '../test/setup-relay-store.ts';
import { operatorEndpoint, operatorEventsPass } from './operator-events.ts';

const SECRET = 'operator-secret-of-32-characters';
const BODY = '{"id":"evt_1","type":"webhook.failing","subject":"Grüße"}';

const store = setupRelayStore();
const metrics = createMetrics('relay', { processMetrics: false });
let lines: LoggedLine[];
let requests: { headers: IncomingMessage['headers']; body: string; path: string | undefined }[];
let answer: (response: ServerResponse) => void;

const server = createServer(receive);
function receive(request: IncomingMessage, response: ServerResponse): void {
  void request.toArray().then((chunks) => {
    requests.push({
      headers: request.headers,
      body: Buffer.concat(chunks as Buffer[]).toString(),
      path: request.url,
    });
    answer(response);
  });
}
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(async () => {
  lines = [];
  requests = [];
  answer = (response) => response.end();
  await store.database.query(
    `insert into operator_events (id, type, body) values ('evt_1', 'webhook.failing', $1)`,
    [BODY],
  );
});

const urlOf = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;

async function run(url = urlOf('/operator?team=1')): Promise<number> {
  const endpoint = operatorEndpoint({
    operatorWebhookUrl: url,
    operatorWebhookSecret: SECRET,
    signatureHeaderPrefix: 'Acme',
  });
  if (endpoint === null) throw new Error('no endpoint');
  const logger = keepingLogger(lines);
  const events = createOperatorEventStore(store.pool);
  return operatorEventsPass({ store: events, endpoint, clock: systemClock, logger, metrics });
}

/** The event that is left, and in how many seconds it is due, rounded to quarters of a minute. */
async function left() {
  const [row] = await store.database.query<{ attempts: number; dueIn: number }>(
    `select attempts, round(extract(epoch from due_at - now()) / 15)::int * 15 as "dueIn" from operator_events`,
  );
  return row;
}

test('the operator gets an event once, signed, with the headers of a delivery', async () => {
  expect(await run()).toBe(2_000);
  await run();
  expect(requests).toHaveLength(1);
  const [{ headers, body, path } = { headers: {}, body: '', path: '' }] = requests;
  expect({ body, path }).toEqual({ body: BODY, path: '/operator?team=1' });
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'acme-event-id': 'evt_1',
    'acme-event-type': 'webhook.failing',
  });
  const signed = { header: String(headers['acme-signature']), body };
  verifySignature({ ...signed, secret: SECRET });
  expect(() => verifySignature({ ...signed, secret: `${SECRET}x` })).toThrow();
  expect(await left()).toBe(undefined);
});

test.each<[string, (response: ServerResponse) => void, string]>([
  ['answers 503', (response) => response.writeHead(503).end(), 'HTTP 503'],
  ['redirects', (response) => response.writeHead(302, { location: urlOf('/elsewhere') }).end(), 'HTTP 302'],
  [
    'closes the connection',
    (response) => void response.socket?.destroy(),
    'connection closed before a complete response (ECONNRESET)',
  ],
])('an endpoint that %s gets the event again', async (_, behaviour, error) => {
  answer = behaviour;
  await run();
  expect(requests).toHaveLength(1);
  expect(await left()).toMatchObject({ attempts: 1, dueIn: 15 });
  expect(lines).toEqual([
    {
      level: 'warn',
      msg: 'operator_event.attempted',
      fields: { event_id: 'evt_1', event_type: 'webhook.failing', attempt: 1, outcome: 'retry', error },
    },
  ]);
  answer = (response) => response.end();
  await store.database.query('update operator_events set due_at = now()');
  await run();
  expect(requests.map(({ body }) => body)).toEqual([BODY, BODY]);
  expect(await left()).toBe(undefined);
});

test('an event that cannot be posted is an attempt, too: it does not come back at once for ever', async () => {
  await run('no URL');
  expect(lines).toMatchObject([{ fields: { outcome: 'retry', error: 'Invalid URL' } }]);
  expect(await left()).toEqual({ attempts: 1, dueIn: 15 });
});

test('no other relay may claim the event until its post has ended, after ten seconds at most', async () => {
  const during: unknown[] = [];
  answer = (response) => {
    void left().then((row) => {
      during.push(row);
      response.end();
    });
  };
  await run();
  expect(during).toEqual([{ attempts: 1, dueIn: 30 }]);
});

test('an endpoint on a port that browsers refuse gets the event', async () => {
  const blocked = createServer(receive);
  const port = await listenOnOne(blocked, [10080, 6566, 6000, 5060, 2049]);
  try {
    await run(`http://127.0.0.1:${port}/operator`);
    expect(requests).toMatchObject([{ body: BODY, path: '/operator' }]);
    expect(await left()).toBe(undefined);
  } finally {
    blocked.closeAllConnections();
    blocked.close();
  }
});

/** Listens on the first of these ports that is free. */
async function listenOnOne(listener: Server, [port, ...others]: readonly number[]): Promise<number> {
  if (port === undefined) throw new Error('none of these ports is free');
  const listening = once(listener, 'listening');
  listener.listen(port, '127.0.0.1');
  return listening.then(
    () => port,
    () => listenOnOne(listener, others),
  );
}

test('an endpoint that answers without end is not read to its end', async () => {
  let isOpen = true;
  answer = (response) => {
    response.on('close', () => (isOpen = false));
    response.writeHead(200);
    const fill = (): void => {
      while (isOpen && response.write('x'.repeat(65_536)));
    };
    response.on('drain', fill);
    fill();
  };
  await run();
  expect(await left()).toBe(undefined);
});

test('the pause doubles up to an hour, and the event is given up after 24 attempts', async () => {
  answer = (response) => response.writeHead(500).end();
  const pauses = [];
  for (let n = 0; n < 24; n += 1) {
    await run();
    pauses.push((await left())?.dueIn);
    await store.database.query('update operator_events set due_at = now()');
  }
  const doubled = [15, 30, 60, 120, 240, 480, 960, 1920];
  expect(pauses).toEqual([...doubled, ...Array.from({ length: 15 }, () => 3600), undefined]);
  expect(lines.at(-1)).toMatchObject({ level: 'error', fields: { attempt: 24, outcome: 'dead' } });
});

test('nothing is posted without a URL or without a secret', () => {
  const url = 'https://operator.example/';
  const settings = (operatorWebhookUrl?: string, operatorWebhookSecret?: string) => ({
    operatorWebhookUrl,
    operatorWebhookSecret,
    signatureHeaderPrefix: 'Service',
  });
  expect(operatorEndpoint(settings(undefined, SECRET))).toBe(null);
  expect(operatorEndpoint(settings(url, undefined))).toBe(null);
  expect(operatorEndpoint(settings(url, SECRET))).toEqual({ url, secret: SECRET, headerPrefix: 'Service' });
});
