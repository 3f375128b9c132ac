import { beforeEach, describe, expect, test } from '@jest/globals';
import { createSecretBox } from '@postrider/domain';
import type { AccountId, DeadLetterId, WebhookId } from '@postrider/domain';
import { verifySignature } from '@postrider/receiver';
import { createDeadLetterStore, createWebhookStore } from '@postrider/store';
import type { DeliveryClaim } from '@postrider/store';
import {
  ACTOR,
  after,
  answer,
  CLOSED_PORT,
  dripBody,
  hang,
  raw,
  redirectTo,
  resetBeforeHead,
  startTcpListener,
  switchProtocols,
  testWithLoopbackNetwork,
} from '@postrider/testing';
import type { Behaviour } from '@postrider/testing';
import { setupDeliveries, SECRET } from '../../test/delivery-fixture.ts';

const fixture = setupDeliveries((name) =>
  name === 'inside.hooks.example' ? { addresses: ['10.0.0.1'] } : 'nxdomain',
);
let deliver: (job: DeliveryClaim) => Promise<void>;
/** A new path for each test. */
let path: string;
let paths = 0;

beforeEach(async () => {
  deliver = fixture.worker(); // with new connections: some behaviours break theirs
  path = `/hook-${(paths += 1)}`;
});

const deliveries = () => fixture.database.query('select * from deliveries');
const attempts = () => fixture.database.query('select * from attempts order by attempt');
const letters = () => fixture.database.query('select * from dead_letters');
const lines = () => fixture.log.lines('delivery.attempted');
const requests = () => fixture.receiver.requests.filter((request) => request.path === path);

/** The columns that distinguish the states of contract section 3. */
async function stored() {
  const outstanding = await deliveries();
  const logged = await attempts();
  const dead = await letters();
  return {
    outstanding: outstanding.map(
      (row) => [row['attempts'], row['last_status'], row['leased_until']] as unknown[],
    ),
    logged: logged.map((row) => [row['attempt'], row['status'], row['error']] as unknown[]),
    dead: dead.map(
      (row) => [row['attempts'], row['reason'], row['last_error'], row['status_code']] as unknown[],
    ),
  };
}

/** The difference between the retry's delay, from the attempt's end, and `delaySeconds`, in milliseconds. */
async function delayError(delaySeconds: number): Promise<number> {
  const [row] = await fixture.database.query<{ ms: number }>(
    `select (extract(epoch from d.due_at - a.started_at) * 1000 - a.duration_ms - $1::float8 * 1000)::float8 as ms
     from deliveries d join attempts a on a.delivery_id = d.id and a.attempt = d.attempts`,
    [delaySeconds],
  );
  return Math.abs(row?.ms ?? Number.NaN);
}

describe('the states of contract section 3', () => {
  test.each<[string, Behaviour, number]>([
    ['200', answer(200), 200],
    ['204', answer(204), 204],
    ['299', answer(299), 299],
  ])('%s is done: one attempt is logged and nothing is left', async (_, behaviour, status) => {
    fixture.receiver.always(path, behaviour);
    await deliver(await fixture.job((await fixture.endpoint(path)).webhookId));
    expect(await stored()).toEqual({ outstanding: [], logged: [[1, status, null]], dead: [] });
  });

  test('200 is done, although its body never ends', async () => {
    fixture.receiver.always(path, dripBody(200));
    const impatient = fixture.worker({ timeoutMs: 2_000 });
    await impatient(await fixture.job((await fixture.endpoint(path)).webhookId));
    expect(await stored()).toEqual({ outstanding: [], logged: [[1, 200, null]], dead: [] });
  });

  test('410 dead-letters at once as rejected', async () => {
    fixture.receiver.always(path, answer(410));
    const { webhookId, accountId } = await fixture.endpoint(path);
    await deliver(await fixture.job(webhookId));
    expect(await stored()).toEqual({
      outstanding: [],
      logged: [[1, 410, 'HTTP 410']],
      dead: [[1, 'rejected', 'HTTP 410', 410]],
    });
    expect(await letters()).toMatchObject([{ webhook_id: webhookId, account_id: accountId }]);
  });

  test.each<[string, Behaviour, number]>([
    ['304', answer(304), 304],
    ['400', answer(400), 400],
    ['404', answer(404), 404],
    ['429', answer(429, { headers: { 'retry-after': '1' } }), 429],
    ['500', answer(500), 500],
    ['503', answer(503), 503],
    ['101', switchProtocols(), 101],
    ['101 without an upgrade', switchProtocols({ upgrade: false }), 101],
    ['300', answer(300), 300],
    ['600', raw('HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n'), 600],
    ['999', raw('HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n'), 999],
  ])('%s is tried again after 30 seconds', async (_, behaviour, status) => {
    fixture.receiver.always(path, behaviour);
    await deliver(await fixture.job((await fixture.endpoint(path)).webhookId));
    expect(await stored()).toEqual({
      outstanding: [[1, status, null]],
      logged: [[1, status, `HTTP ${status}`]],
      dead: [],
    });
    expect(await delayError(30)).toBeLessThan(1);
  });

  test.each([301, 302, 307, 308])('a redirect by %i is not followed, but tried again', async (status) => {
    fixture.receiver.always(path, redirectTo(fixture.receiver.url('/elsewhere'), status));
    await deliver(await fixture.job((await fixture.endpoint(path)).webhookId));
    expect(await stored()).toMatchObject({ outstanding: [[1, status, null]], dead: [] });
    expect(fixture.receiver.requests.filter((request) => request.path === '/elsewhere')).toEqual([]);
  });

  test.each<[string, Behaviour, number, unknown]>([
    ['an endpoint that never answers', hang(), 400, 'timeout after 400 ms'],
    [
      'a connection that is reset',
      resetBeforeHead(),
      20_000,
      expect.stringMatching(/^connection closed before/),
    ],
  ])('%s is tried again after 30 seconds', async (_, behaviour, timeoutMs, error) => {
    fixture.receiver.always(path, behaviour);
    const worker = fixture.worker({ timeoutMs });
    await worker(await fixture.job((await fixture.endpoint(path)).webhookId));
    expect(await stored()).toEqual({
      outstanding: [[1, null, null]],
      logged: [[1, null, error]],
      dead: [],
    });
    expect(await delayError(30)).toBeLessThan(1);
  });

  test('a port without a listener and a name that does not resolve are tried again', async () => {
    for (const [address, error] of [
      [`https://127.0.0.1:${CLOSED_PORT}/`, `connect ECONNREFUSED 127.0.0.1:${CLOSED_PORT}`],
      ['https://gone.hooks.example/', expect.stringContaining('gone.hooks.example')],
    ] as const) {
      await fixture.rows.clear();
      await deliver(await fixture.job((await fixture.endpoint(address)).webhookId));
      expect(await stored()).toEqual({
        outstanding: [[1, null, null]],
        logged: [[1, null, error]],
        dead: [],
      });
    }
  });

  testWithLoopbackNetwork(
    'a refused address is dead-lettered at once as rejected: no connection, no attempt',
    async () => {
      const canary = await startTcpListener(undefined, '127.0.0.2');
      try {
        const refused = [`127.0.0.2:${canary.port}`, '169.254.169.254', '10.0.0.1', '[::1]', 'localhost'];
        for (const host of [...refused, 'inside.hooks.example']) {
          await fixture.rows.clear();
          const { webhookId } = await fixture.endpoint(`https://${host}/`);
          await deliver(await fixture.job(webhookId, { attempts: 2, lastStatus: 503 }));
          expect(await stored()).toEqual({
            outstanding: [],
            logged: [],
            dead: [[2, 'rejected', expect.stringMatching(/^refused/), 503]],
          });
        }
        expect(canary.connections).toBe(0);
      } finally {
        await canary.close();
      }
    },
  );

  test('eight failures, each after its delay, dead-letter as attempts_exhausted with the last status', async () => {
    fixture.receiver.script(
      path,
      [500, 501, 502, 503, 404, 504, 505, 418].map((status) => answer(status)),
    );
    const { webhookId } = await fixture.endpoint(path);
    await fixture.job(webhookId);
    for (const delaySeconds of [30, 60, 120, 240, 480, 960, 1920]) {
      await deliver(await fixture.nextJob(webhookId));
      expect(await delayError(delaySeconds)).toBeLessThan(1);
    }
    await deliver(await fixture.nextJob(webhookId));
    const { outstanding, logged, dead } = await stored();
    expect(outstanding).toEqual([]);
    expect(logged.map(([attempt]) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(dead).toEqual([[8, 'attempts_exhausted', 'HTTP 418', 418]]);
    expect(requests()).toHaveLength(8);
  });

  test('an eighth attempt without an answer dead-letters with the status of the last answer', async () => {
    fixture.receiver.always(path, resetBeforeHead());
    const { webhookId } = await fixture.endpoint(path);
    await deliver(await fixture.job(webhookId, { attempts: 7, lastStatus: 418 }));
    expect((await stored()).dead).toEqual([
      [8, 'attempts_exhausted', expect.stringMatching(/^connection closed/), 418],
    ]);
  });
});

test('every attempt, and a replay, sends the same bytes with a fresh signature', async () => {
  const { accountId, webhookId } = await fixture.endpoint(path);
  fixture.receiver.script(path, [answer(503), answer(410)]);
  await fixture.job(webhookId);
  await deliver(await fixture.nextJob(webhookId));
  fixture.clock.advance(600_000);
  await deliver(await fixture.nextJob(webhookId));
  const [letter] = await fixture.database.query<{ id: DeadLetterId }>('select id from dead_letters');
  const replayed = await createDeadLetterStore(fixture.db).replay(
    accountId,
    letter?.id as DeadLetterId,
    ACTOR,
  );
  expect(replayed).toBe(true);
  fixture.clock.advance(600_000);
  await deliver(await fixture.nextJob(webhookId));

  const [event] = await fixture.database.query<{ id: string; created_at: Date }>('select * from events');
  const head = { id: event?.id, type: 'email.sent', subject: accountId, created_at: event?.created_at };
  const bytes = Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":{"z":1,"a":"é"}}`);
  const sent = requests();
  expect(sent.map((request) => request.body)).toEqual([bytes, bytes, bytes]);
  sent.forEach((request, index) => {
    const header = request.headers['service-signature'];
    const now = new Date(fixture.clock.now().getTime() - (2 - index) * 600_000);
    expect(header).toMatch(new RegExp(`^t=${now.getTime() / 1000},v1=[0-9a-f]{64}$`));
    verifySignature({ header, body: request.body, secret: SECRET, now });
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'service-event-id': event?.id,
      'service-event-type': 'email.sent',
    });
  });
});

test('a signing secret that no key opens is our fault: nothing is sent or recorded, the lease stays', async () => {
  const { webhookId } = await fixture.endpoint(path);
  const job = await fixture.job(webhookId);
  await expect(fixture.worker({ otherKeys: true })(job)).rejects.toThrow('no configured key');
  expect(requests()).toEqual([]);
  expect(await stored()).toEqual({ outstanding: [[0, null, expect.any(Date)]], logged: [], dead: [] });
  expect(lines()).toEqual([]);
  await deliver(await fixture.nextJob(webhookId));
  expect(await stored()).toEqual({ outstanding: [], logged: [[1, 200, null]], dead: [] });
});

describe('a late outcome', () => {
  const answers = [200, 503, 410];

  test.each(answers)('%i for a webhook deleted during the attempt is recorded nowhere', async (status) => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    fixture.receiver.always(path, after(opened, answer(status)));
    const { accountId, webhookId } = await fixture.endpoint(path);
    const delivered = deliver(await fixture.job(webhookId));
    await fixture.receiver.waitForRequests(1, { path });
    await deleteWebhook(accountId, webhookId);
    open();
    await delivered;
    expect(await stored()).toEqual({ outstanding: [], logged: [], dead: [] });
    expect(lines()).toMatchObject([{ webhook_id: webhookId, unrecorded: true }]);
  });

  test.each(answers)('%i after another worker has taken the row changes nothing', async (status) => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    fixture.receiver.script(path, [after(opened, answer(status)), answer(500)]);
    const { webhookId } = await fixture.endpoint(path);
    const late = deliver(await fixture.job(webhookId));
    await fixture.receiver.waitForRequests(1, { path });
    await fixture.worker()(await fixture.nextJob(webhookId));
    const before = [await deliveries(), await attempts()];
    open();
    await late;
    expect([await deliveries(), await attempts()]).toEqual(before);
    expect(await stored()).toMatchObject({ outstanding: [[1, 500, null]], dead: [] });
    expect(lines().map((line) => line['unrecorded'])).toEqual([undefined, true]);
  });

  async function deleteWebhook(accountId: AccountId, webhookId: WebhookId): Promise<void> {
    const secrets = createSecretBox([Buffer.alloc(32, 1)]);
    const webhooks = createWebhookStore(fixture.db, secrets, fixture.clock);
    expect(await webhooks.delete(accountId, webhookId, ACTOR)).toBe(true);
  }
});

describe('jobs', () => {
  test('that come early wait until their delivery is due', async () => {
    const { webhookId } = await fixture.endpoint(path);
    await deliver(await fixture.job(webhookId, { dueInMs: 700 }));
    const [row] = await fixture.database.query<{ waited: boolean }>(
      // The row is due after 700 ms. Timers may fire slightly early.
      `select a.started_at - e.created_at > interval '600 ms' as waited from attempts a join events e on e.id = a.event_id`,
    );
    expect(row).toEqual({ waited: true });
  });

  test('that are duplicates in one batch make one attempt', async () => {
    const job = await fixture.job((await fixture.endpoint(path)).webhookId);
    await Promise.all([deliver(job), deliver(job), deliver(job)]);
    expect(requests()).toHaveLength(1);
    expect(await stored()).toEqual({ outstanding: [], logged: [[1, 200, null]], dead: [] });
  });

  test('that are stale or duplicate make no further attempt', async () => {
    fixture.receiver.always(path, answer(503));
    const job = await fixture.job((await fixture.endpoint(path)).webhookId);
    await Promise.all([deliver(job), fixture.worker()(job)]);
    await deliver(job);
    expect(requests()).toHaveLength(1);
    expect((await stored()).outstanding).toEqual([[1, 503, null]]);
  });
});
