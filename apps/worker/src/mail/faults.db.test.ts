import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { retrySchedule } from '@postrider/domain';
import type { EmailId } from '@postrider/domain';
import { Semaphore } from '@postrider/limits';
import { createMailProvider } from '@postrider/mail';
import type { MailProvider } from '@postrider/mail';
import { createMetrics } from '@postrider/runtime';
import type { Metrics } from '@postrider/runtime';
import { createMailOutbox, createMailWork, StoreUnavailableError } from '@postrider/store';
import type { ClaimedEmail, Database, MailClaim, TakenEmail } from '@postrider/store';
import {
  createRows,
  createTestRoles,
  fakeClock,
  startFaultProxy,
  untilWaitingForLock,
  waitFor,
  withClient,
  setupDatabase,
} from '@postrider/testing';
import { openTestDatabase, setupWorkerConnection } from '../../test/delivery-fixture.ts';
import { keepLog } from '../../test/kept-log.ts';
import { MailBatches } from './batches.ts';
import { quarantineFaulty } from './quarantine.ts';
import { outgoingMessage, sendMail } from './send.ts';
import type { MailStages } from './send.ts';

/* Sends that end in an internal fault. At the eighth, the message fails. */

const GIVEN_UP = 'gave up after 8 internal faults';

const log = keepLog();
const monotonicMs = performance.now.bind(performance);
let aheadMs: number;

const database = setupDatabase();
const rows = createRows(database);
const db = setupWorkerConnection(database);
let directory: string;
let provider: MailProvider;
let metrics: Metrics<'worker'>;
let stages: MailStages;
let emailId: EmailId;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sandbox-'));
  provider = await createMailProvider({
    provider: 'sandbox',
    sandboxDir: directory,
    timeoutMs: 20_000,
    connectionsMax: 1,
  });
});
afterAll(async () => {
  provider.close();
  await rm(directory, { recursive: true });
});
afterEach(() => void jest.restoreAllMocks());
beforeEach(async () => {
  log.clear();
  aheadMs = 0;
  metrics = createMetrics('worker', { processMetrics: false });
  stages = stagesOn(db);
  emailId = await rows.email();
});

function stagesOn(by: Database): MailStages {
  return {
    batches: new MailBatches(
      createMailWork(by, fakeClock('2026-03-01T12:00:00.000Z'), { verifiedDomainsOnly: false }),
      { leaseSeconds: 30, logger: log.logger },
    ),
    providerSlots: new Semaphore(10),
    send: async (email) => provider.send(outgoingMessage(email, null)),
    restThrottledSlot: async () => undefined,
    schedule: retrySchedule([30, 60]),
    leaseSeconds: 30,
    logger: log.logger,
    metrics,
  };
}

/** From now on, the monotonic clock of this process is ahead by so many leases more. */
function skipLeases(leases: number): void {
  aheadMs += leases * stages.leaseSeconds * 1000;
  jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs() + aheadMs);
}

/** The jobs of the next claim. Messages become due first, and leases end. */
async function nextJobs(rowsMax = 2): Promise<readonly ClaimedEmail[]> {
  await database.query('update email_sends set due_at = least(due_at, now()), leased_until = null');
  return createMailOutbox(db.pool).claim({ lookAheadSeconds: 0, rowsMax, leaseSeconds: 30 });
}

async function nextJob(): Promise<MailClaim> {
  const [job] = await nextJobs();
  if (job === undefined) throw new Error('no mail is outstanding');
  return job;
}

const sends = () => database.query('select email_id from email_sends');

async function email() {
  const [row] = await database.query('select status, error from emails');
  return row;
}

async function eventTypes(): Promise<unknown[]> {
  const found = await database.query('select type from events order by id');
  return found.map((row): unknown => row['type']);
}

/** Sends the message repeatedly, until it has ended. @returns how often the provider got it */
async function sendUntilEnded(on: MailStages = stages): Promise<number> {
  let sent = 0;
  const sendToProvider: MailStages['send'] = async (message) => {
    sent += 1;
    return on.send(message);
  };
  for (let tries = 0; tries < 20 && (await sends()).length > 0; tries += 1) {
    await sendMail(await nextJob(), { ...on, send: sendToProvider }).catch(() => undefined);
  }
  return sent;
}

async function expectGivenUp(): Promise<void> {
  expect(await sends()).toEqual([]);
  expect(await email()).toMatchObject({ status: 'failed', error: GIVEN_UP });
  expect(await eventTypes()).toEqual(['email.failed']);
  const [line, ...others] = log.lines('mail given up after faults of our own');
  expect([line, others]).toEqual([
    expect.objectContaining({ level: 'error', email_id: emailId, faults: 8 }),
    [],
  ]);
  const page = await metrics.registry.metrics();
  expect(page).toContain('postrider_mail_given_up_total{service="worker"} 1');
  expect(page).toContain('postrider_mail_sends_total{result="failed",service="worker"} 0');
}

test('a message whose outcome cannot be recorded fails after eight sends', async () => {
  await database.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$`,
  );
  await database.query(
    `create trigger refuse before insert on events for each row when (new.type = 'email.sent') execute function refuse()`,
  );
  try {
    expect(await sendUntilEnded()).toBe(8);
    await expectGivenUp();
    expect(log.lines('mail ends one by one')).toHaveLength(1); // then it goes alone, and breaks no batch
  } finally {
    await database.query('drop function refuse cascade');
  }
});

test('a message whose send throws fails after eight sends, too', async () => {
  const broken: MailStages['send'] = async () => Promise.reject(new Error('a bug'));
  expect(await sendUntilEnded({ ...stages, send: broken })).toBe(8);
  await expectGivenUp();
});

test('a message that cannot be composed fails at once', async () => {
  await database.query(`update emails set from_address = 'nobody'`);
  expect(await sendUntilEnded()).toBe(1);
  expect(await email()).toMatchObject({ status: 'failed', error: 'the message cannot be composed' });
  expect(await eventTypes()).toEqual(['email.failed']);
});

test('a lock on the events is no internal fault, although Postgres answers others: the worker keeps trying to record', async () => {
  const sending = await withClient(database.url, async (session) => {
    await session.query('begin; lock table events in exclusive mode');
    // The statement time-out would cancel it after 15 s. The lease ends with the provider's answer.
    const send: MailStages['send'] = async (message) => {
      const answer = await stages.send(message);
      skipLeases(1);
      return answer;
    };
    const begun = [sendMail(await nextJob(), { ...stages, send })];
    for (let tries = 0; tries < 3; tries += 1) {
      await untilWaitingForLock(database);
      await database.query(`select pg_cancel_backend(pid) from pg_stat_activity
                            where datname = current_database() and wait_event_type = 'Lock'`);
    }
    return begun;
  });
  await Promise.all(sending);
  expect(await eventTypes()).toEqual(['email.sent']);
});

test('recording an outcome holds no slot: the provider gets the next message', async () => {
  await rows.email();
  const sentIds: EmailId[] = [];
  const sendToProvider: MailStages['send'] = async (message) => {
    sentIds.push(message.emailId);
    return stages.send(message);
  };
  const oneSlot = { ...stages, providerSlots: new Semaphore(1), send: sendToProvider };
  const [first, second] = (await nextJobs()) as [ClaimedEmail, ClaimedEmail];
  const sending = await withClient(database.url, async (session) => {
    await session.query('begin; lock table events in exclusive mode');
    const begun = [sendMail(first, oneSlot)];
    await untilWaitingForLock(database);
    begun.push(sendMail(second, oneSlot));
    await waitFor(() => sentIds.length === 2, { what: 'the provider to get the second message' });
    return begun;
  });
  await Promise.all(sending);
  expect(await eventTypes()).toEqual(['email.sent', 'email.sent']);
});

test('a take that never reached Postgres forgives no earlier fault', async () => {
  await database.query('update email_sends set unrecorded = 3');
  const job = await nextJob();
  const line = await startFaultProxy(database.url);
  const byLine = openTestDatabase(line.url(database.url));
  try {
    line.takeAway();
    const sending = expect(sendMail(job, stagesOn(byLine))).rejects.toThrow('Postgres is not available');
    await waitFor(() => line.refused >= 2, { what: 'the take, and a try to forgive its fault' });
    line.restore();
    await sending;
    expect(await database.query('select unrecorded from email_sends')).toEqual([{ unrecorded: 3 }]);
  } finally {
    await byLine.close();
    await line.close();
  }
});

test('a message that crashes its worker pays alone: its neighbours are sent', async () => {
  const poison = emailId;
  const innocent = await Promise.all(Array.from({ length: 5 }, () => rows.email()));
  const sentIds: EmailId[] = [];
  const { promise: never, reject: endSends } = Promise.withResolvers<never>();
  const handled: Promise<void>[] = [];
  for (let worker = 0; worker < 20 && (await sends()).length > 0; worker += 1) {
    const { promise: crashed, resolve: crash } = Promise.withResolvers<void>();
    let dead = false;
    // This is one worker process. When it is dead, nothing in it continues.
    const sendToProvider: MailStages['send'] = async (message) => {
      sentIds.push(message.emailId);
      for (let query = 0; query < 20 && message.emailId !== poison; query += 1) {
        await db.pool.query('select 1');
        if (dead) return never;
      }
      if (message.emailId !== poison) return stages.send(message);
      dead = true;
      crash();
      return never;
    };
    const providerSlots = new Semaphore(10);
    const handle = quarantineFaulty(async (job: ClaimedEmail) =>
      sendMail(job, { ...stages, providerSlots, send: sendToProvider }),
    );
    const jobs = await nextJobs(10);
    const handling = jobs.map(handle);
    handled.push(...handling);
    await Promise.race([crashed, Promise.allSettled(handling)]);
  }
  const ended = await database.query('select id, status from emails order by id');
  const expected = [poison, ...innocent].map((id) => ({ id, status: id === poison ? 'failed' : 'sent' }));
  expect(ended).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)));
  for (const id of innocent) expect(sentIds.filter((each) => each === id).length).toBeLessThanOrEqual(3);
  endSends(new Error('the test is over')); // each send renews its lease until it ends
  await Promise.allSettled(handled);
});

test('a message in the same batch is sent, although this one fails', async () => {
  const broken = emailId;
  const failing: MailStages['send'] = async (message) => {
    if (message.emailId === broken) throw new Error('a bug');
    return stages.send(message);
  };
  const others: EmailId[] = [];
  for (let times = 0; times < 9; times += 1) {
    const other = await rows.email();
    others.push(other);
    const jobs = await nextJobs();
    expect(jobs).toHaveLength(2);
    await Promise.allSettled(jobs.map(async (job) => sendMail(job, { ...stages, send: failing })));
  }
  const ended = await database.query('select id, status from emails order by created_at, id');
  expect(ended).toEqual([broken, ...others].map((id) => ({ id, status: id === broken ? 'failed' : 'sent' })));
});

test('deferred tries do not count as faults', async () => {
  await database.query(`update emails set to_addresses = '{deferred@sandbox.postrider.example}'`);
  const patient = { ...stages, schedule: retrySchedule(Array.from({ length: 11 }, () => 1)) };
  expect(await sendUntilEnded(patient)).toBe(12);
  expect(await email()).toMatchObject({ error: expect.stringMatching(/^gave up after 12 attempts/) });
  expect(log.lines('mail given up after faults of our own')).toEqual([]);
});

test('an outage of Postgres after the take counts as no fault', async () => {
  const take = stages.batches.take.bind(stages.batches);
  stages.batches.take = async (job) => {
    expect(await take(job)).not.toBeNull();
    throw new StoreUnavailableError(new Error('the connection broke'));
  };
  await expect(sendMail(await nextJob(), stages)).rejects.toThrow('Postgres is not available');
  expect(await database.query('select unrecorded from email_sends')).toEqual([{ unrecorded: 0 }]);
});

/** The next take ends after `share` of the lease, and something happens meanwhile. */
function takeSlowly(share: number, meanwhile = async (): Promise<void> => undefined): void {
  const take = stages.batches.take.bind(stages.batches);
  stages.batches.take = async (job) => {
    const taken = await take(job);
    await meanwhile();
    skipLeases(share);
    return taken;
  };
}

test('the provider gets no message whose lease ended meanwhile, and that counts as no fault', async () => {
  takeSlowly(1);
  const send = jest.spyOn(stages, 'send');
  await expect(sendMail(await nextJob(), stages)).rejects.toMatchObject({
    message: expect.stringContaining('the lease was not held'),
    stage: 'load', // the provider had no part in it
  });
  expect(send).not.toHaveBeenCalled();
  expect(await database.query('select unrecorded from email_sends')).toEqual([{ unrecorded: 0 }]);
});

test('a lease of which a part is used up is renewed before the provider gets the message', async () => {
  takeSlowly(1 / 2);
  const renew = stages.batches.renew.bind(stages.batches);
  let leases = 0;
  stages.batches.renew = async (email) => {
    leases += 1;
    return renew(email);
  };
  const { send } = stages;
  await sendMail(await nextJob(), {
    ...stages,
    send: async (email) => {
      expect(leases).toBe(1);
      return send(email);
    },
  });
  expect(await eventTypes()).toEqual(['email.sent']);
});

test('a renewal that ends after the lease comes too late', async () => {
  takeSlowly(1 / 2);
  const renew = stages.batches.renew.bind(stages.batches);
  stages.batches.renew = async (email) => {
    const isHeld = await renew(email);
    skipLeases(1 / 2);
    return isHeld;
  };
  const send = jest.spyOn(stages, 'send');
  await expect(sendMail(await nextJob(), stages)).rejects.toThrow('the lease was not held');
  expect(send).not.toHaveBeenCalled();
});

test('a message that another worker took during a slow load stays with that worker', async () => {
  takeSlowly(1 / 2, async () => void (await database.query('update email_sends set claim = claim + 1')));
  const send = jest.spyOn(stages, 'send');
  await expect(sendMail(await nextJob(), stages)).rejects.toThrow('the lease was not held');
  expect(send).not.toHaveBeenCalled();
});

test('a message accepted before an outage of Postgres that outlasts its lease is sent once', async () => {
  const line = await startFaultProxy(database.url);
  const byLine = openTestDatabase(line.url(database.url));
  try {
    const onLine = stagesOn(byLine);
    const sentIds: EmailId[] = [];
    const sendToProvider: MailStages['send'] = async (message) => {
      sentIds.push(message.emailId);
      const answer = await onLine.send(message);
      line.takeAway();
      skipLeases(1);
      return answer;
    };
    const sending = sendMail(await nextJob(), { ...onLine, send: sendToProvider });
    await waitFor(() => sentIds.length > 0 && line.refused >= 2, { what: 'tries to record it' });
    const again = await nextJob(); // Postgres is back. The relay is first, and the worker records meanwhile.
    line.restore();
    await sending;
    await sendMail(again, { ...stages, send: sendToProvider });
    expect(sentIds).toHaveLength(1);
    expect(await eventTypes()).toEqual(['email.sent']);
    const levels = log.lines('mail ends one by one').map(({ level }) => level);
    expect(new Set(levels)).toEqual(new Set(['debug'])); // each message tries every two seconds
  } finally {
    await byLine.close();
    await line.close();
  }
});

test('a message accepted before the password of the worker was changed is sent once', async () => {
  const roles = createTestRoles();
  const login = await roles.login(`in role ${new URL(database.url).username}`);
  const url = roles.url(database.url, login);
  const setPassword = (password: string) => database.query(`alter role ${login} password '${password}'`);
  const byLogin = openTestDatabase(url);
  try {
    const onLogin = stagesOn(byLogin);
    const send = jest.fn(async (message: TakenEmail) => {
      const answer = await onLogin.send(message);
      await setPassword('changed');
      await database.query(
        'select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = $1',
        [login],
      );
      return answer;
    });
    const sending = sendMail(await nextJob(), { ...onLogin, send });
    await waitFor(() => log.lines('mail ends one by one').length >= 2, { what: 'tries to record it' });
    await setPassword(new URL(url).password);
    await sending;
    expect(send).toHaveBeenCalledTimes(1);
    expect([await sends(), await eventTypes()]).toEqual([[], ['email.sent']]);
  } finally {
    await byLogin.close();
    await roles.drop();
  }
});
