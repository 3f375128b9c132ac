import { beforeEach, expect, test } from '@jest/globals';
import { retrySchedule } from '@postrider/domain';
import type { EmailId } from '@postrider/domain';
import { Semaphore } from '@postrider/limits';
import { createMetrics } from '@postrider/runtime';
import { createMailOutbox, createMailWork } from '@postrider/store';
import type { ClaimedEmail, Database } from '@postrider/store';
import { createRows, fakeClock, startFaultProxy, waitFor, setupDatabase } from '@postrider/testing';
import { openTestDatabase, setupWorkerConnection } from '../../test/delivery-fixture.ts';
import { keepLog } from '../../test/kept-log.ts';
import { MailBatches } from './batches.ts';
import { sendMail } from './send.ts';

/* A worker with one slot is stopped: a message is with the provider, and two wait for the slot. */

const log = keepLog();

const database = setupDatabase();
const rows = createRows(database);
const db = setupWorkerConnection(database);
let sent: EmailId[];

beforeEach(async () => {
  log.clear();
  sent = [];
  for (let n = 0; n < 3; n += 1) await rows.email(-1_000 * (3 - n));
});

async function claim(): Promise<readonly ClaimedEmail[]> {
  return createMailOutbox(db.pool).claim({ lookAheadSeconds: 0, rowsMax: 10, leaseSeconds: 600 });
}

/** A worker with a provider that accepts everything when `answers` is open. */
function workerOn(by: Database, answers: PromiseWithResolvers<void>) {
  const stopping = new AbortController();
  const work = createMailWork(by, fakeClock('2026-03-01T12:00:00.000Z'), { verifiedDomainsOnly: false });
  const stages = {
    batches: new MailBatches(work, { leaseSeconds: 30, logger: log.logger }),
    providerSlots: new Semaphore(1, stopping.signal),
    async send({ emailId }: { readonly emailId: EmailId }) {
      sent.push(emailId);
      await answers.promise;
      return { kind: 'accepted', providerMessageId: null, notifications: [] } as const;
    },
    restThrottledSlot: async () => undefined,
    schedule: retrySchedule([30]),
    leaseSeconds: 30,
    logger: log.logger,
    metrics: createMetrics('worker', { processMetrics: false }),
  };
  return { stop: () => stopping.abort(), send: async (job: ClaimedEmail) => sendMail(job, stages) };
}

/** Starts to send all jobs. @returns when the provider has the first message */
async function begin(worker: ReturnType<typeof workerOn>, jobs: readonly ClaimedEmail[]) {
  const [first, ...others] = jobs.map((job) => worker.send(job));
  await waitFor(() => sent.length === 1, { what: 'the provider to get the first message' });
  return { sending: first, waiting: Promise.all(others) };
}

const unsent = () => database.query('select * from email_sends order by email_id');

test('a waiting message is released at the stop, and another worker sends it; each is sent once', async () => {
  await database.query('update email_sends set unrecorded = 1');
  const answers = Promise.withResolvers<void>();
  const worker = workerOn(db, answers);
  const jobs = await claim();
  const { sending, waiting } = await begin(worker, jobs);
  worker.stop();
  await waiting;
  const again = await claim();
  // The release counts no fault.
  expect(again).toEqual(jobs.slice(1).map((job) => ({ ...job, leaseExpired: true })));
  answers.resolve();
  const other = workerOn(db, answers);
  await Promise.all([sending, ...again.map((job) => other.send(job))]);
  expect(await unsent()).toEqual([]);
  expect(sent).toEqual(jobs.map(({ emailId }) => emailId));
});

test('a stale job changes nothing', async () => {
  const answers = Promise.withResolvers<void>();
  const worker = workerOn(db, answers);
  const { sending, waiting } = await begin(worker, await claim());
  await database.query(
    `update email_sends set claim = claim + 1, leased_until = now() + interval '1 h' where taken_at is null`,
  );
  const before = await unsent();
  worker.stop();
  await waiting;
  expect(await unsent()).toEqual(before);
  answers.resolve();
  await sending;
});

test('while Postgres is unavailable its lease expires, with one log line', async () => {
  const line = await startFaultProxy(database.url);
  const byLine = openTestDatabase(line.url(database.url));
  try {
    const answers = Promise.withResolvers<void>();
    const worker = workerOn(byLine, answers);
    const { sending, waiting } = await begin(worker, await claim());
    const before = await unsent();
    line.takeAway();
    worker.stop();
    await waiting;
    expect(await unsent()).toEqual(before);
    expect(log.lines('mail left to its lease by the stop')).toEqual([
      expect.objectContaining({ level: 'warn', count: 2 }),
    ]);
    line.restore();
    answers.resolve();
    await sending;
  } finally {
    await byLine.close();
    await line.close();
  }
});
