import { beforeEach, describe, expect, test } from '@jest/globals';
import { QueueUnavailableError } from '@postrider/queue';
import type { MailJob, JobToAdd } from '@postrider/queue';
import { createMailOutbox } from '@postrider/store';
import type { ClaimedEmail } from '@postrider/store';
import { inMemoryQueue } from '../test/in-memory-queue.ts';
import type { InMemoryQueue } from '../test/in-memory-queue.ts';
import { setupRelayStore } from '../test/setup-relay-store.ts';
import { MAIL_DELAYED_MAX, mailPass } from './mail-pass.ts';
import { createQueueDepths } from './delivery/queue-depths.ts';
import type { QueueDepths } from './delivery/queue-depths.ts';

const IDLE_PAUSE_MS = 2_000;
const BUSY_PAUSE_MS = 20;

const store = setupRelayStore();
let queue: InMemoryQueue;
let depths: QueueDepths;
/** How often the pass asked the queue for its depth. */
let asked: number;
let claims: (readonly ClaimedEmail[])[];

beforeEach(async () => {
  queue = inMemoryQueue();
  asked = 0;
  const counting: typeof queue.depthOf = async (key) => {
    asked += 1;
    return queue.depthOf(key);
  };
  depths = createQueueDepths({ depthOf: counting }, ['mail'], MAIL_DELAYED_MAX);
  claims = [];
});

async function run(outbox = createMailOutbox(store.pool)): Promise<number> {
  const onJobsAdded = (claimed: readonly ClaimedEmail[]) => void claims.push(claimed);
  return mailPass({ store: outbox, queue, depths, leaseSeconds: 30, onJobsAdded });
}

const jobs = () => queue.jobs('mail') as JobToAdd<MailJob>[];

async function leased(): Promise<number> {
  return (await store.database.query('select from email_sends where leased_until > now()')).length;
}

describe('the mail pass', () => {
  test('queues due mail and mail due soon, each once, with its delay', async () => {
    const due = await store.rows.email();
    const soon = await store.rows.email(50_000);
    await store.rows.email(120_000);
    expect(await run()).toBe(IDLE_PAUSE_MS);
    await run();
    const delays = new Map(jobs().map(({ emailId, claim, delayMs }) => [`${emailId} ${claim}`, delayMs]));
    expect([...delays.keys()].sort()).toEqual([`${due} 0`, `${soon} 0`].sort());
    expect(delays.get(`${due} 0`)).toBe(0);
    expect(delays.get(`${soon} 0`)).toBeGreaterThan(0);
    expect(claims.map((claimed) => claimed.length)).toEqual([2, 0]);
  });

  test('finds a lost job when its lease expires', async () => {
    const emailId = await store.rows.email();
    await run();
    queue.lose();
    await run();
    expect(jobs()).toEqual([]);
    await store.database.query(`update email_sends set leased_until = now() - interval '1 ms'`);
    await run();
    expect(jobs()).toEqual([{ emailId, claim: 0, delayMs: 0, faults: 0, alone: false, leaseExpired: true }]);
  });

  test('releases mail at once that could not be queued, and counts no claim of it', async () => {
    await store.rows.email();
    queue.fail('addMail');
    await expect(run()).rejects.toThrow(QueueUnavailableError);
    expect(await leased()).toBe(0);
    expect(claims).toEqual([]);
    queue.fail();
    await run();
    expect(jobs()).toHaveLength(1);
    expect(claims).toHaveLength(1);
    expect(asked).toBe(2); // a call that failed may have added jobs
  });

  test('a release that fails does not hide the error of the queue', async () => {
    await store.rows.email();
    queue.fail('addMail');
    const release = async () => Promise.reject(new Error('Postgres is away, too'));
    await expect(run({ ...createMailOutbox(store.pool), release })).rejects.toThrow(QueueUnavailableError);
  });

  test('claims nothing while the queue’s depth is unknown', async () => {
    await store.rows.email();
    queue.fail('depth');
    await expect(run()).rejects.toThrow(QueueUnavailableError);
    expect(await leased()).toBe(0);
  });

  test('gives a message with a fault its own job', async () => {
    for (let n = 0; n < 3; n += 1) await store.rows.email();
    const faulty = await store.rows.email();
    await store.database.query('update email_sends set unrecorded = 1 where email_id = $1', [faulty]);
    await run();
    expect(jobs()).toHaveLength(4);
    for (const { emailId, alone } of jobs()) expect(alone).toBe(emailId === faulty);
  });

  test('queues a message later that a worker had taken, forgiven or not: it may still record the outcome', async () => {
    await store.rows.email();
    const taken = await store.rows.email();
    await run();
    queue.lose();
    await store.database.query(`update email_sends set leased_until = now() - interval '1 ms'`);
    await store.database.query(`update email_sends set taken_at = now() where email_id = $1`, [taken]);
    await run();
    expect(jobs()).toHaveLength(2);
    for (const { emailId, delayMs } of jobs()) expect(delayMs).toBe(emailId === taken ? 10_000 : 0);
  });

  test('queues it later also after a claim whose job could not be added', async () => {
    await store.rows.email();
    await run();
    queue.lose();
    await store.database.query(`update email_sends set taken_at = now(), leased_until = now()`);
    queue.fail('addMail');
    await expect(run()).rejects.toThrow(QueueUnavailableError);
    queue.fail();
    await run();
    expect(jobs()).toMatchObject([{ delayMs: 10_000, leaseExpired: true }]);
  });

  test('leaves a full queue as it is', async () => {
    for (let n = 0; n < 3; n += 1) await store.rows.email();
    queue.fill('mail', 'waiting', 128);
    expect(await run()).toBe(BUSY_PAUSE_MS);
    expect(await leased()).toBe(0);
    queue.fill('mail', 'waiting', 125);
    await run();
    expect(await leased()).toBe(3);
  });

  test('runs again soon when more mail was due than the depth allowed', async () => {
    for (let n = 0; n < 65; n += 1) await store.rows.email();
    queue.fill('mail', 'waiting', 64);
    expect(await run()).toBe(BUSY_PAUSE_MS);
    expect(await leased()).toBe(64);
    queue.fill('mail', 'waiting', 0);
    expect(await run()).toBe(IDLE_PAUSE_MS);
    expect(await leased()).toBe(65);
  });

  test('asks the queue nothing while there is no mail, and again once the queue seems full', async () => {
    for (let n = 0; n < 3; n += 1) await run();
    expect(asked).toBe(1);
    for (let n = 0; n < 128; n += 1) await store.rows.email();
    await run();
    expect(asked).toBe(1);
    queue.take('mail');
    await store.rows.email();
    await run();
    expect([asked, jobs().length]).toEqual([2, 1]);
  });

  test('asks each time whether too many jobs are still delayed', async () => {
    queue.fill('mail', 'delayed', 10_001);
    await run();
    queue.fill('mail', 'delayed', 0);
    await store.rows.email(50_000);
    await run();
    expect([asked, jobs().length]).toEqual([2, 1]);
  });

  test('has no look-ahead while too many jobs are delayed', async () => {
    const due = await store.rows.email();
    await store.rows.email(50_000);
    queue.fill('mail', 'delayed', 10_001);
    await run();
    expect(jobs().map(({ emailId }) => emailId)).toEqual([due]);
  });
});
