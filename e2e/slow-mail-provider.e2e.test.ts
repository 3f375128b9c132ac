import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createRows, startFakeSes, waitFor } from '@postrider/testing';
import type { FakeSes, SystemProcess } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/*
 * A slow provider gets as many messages at once as there are slots, and no lease runs without a call. A
 * worker that stops keeps the messages that the provider has, and no others.
 */

const SLOTS = 4;
/** More than a job carries. */
const MESSAGES = 20;

let ses: FakeSes;
let system: System;
let relay: SystemProcess;
/** The calls that the provider has not answered. */
let held: ServerResponse[];

beforeAll(async () => {
  ses = await startFakeSes();
  // No call times out while another worker starts on a busy machine.
  system = await startSystem({ env: { LEASE_SECONDS: '300', MAIL_TIMEOUT_MS: '100000' } });
  relay = await system.start('relay');
});
beforeEach(() => {
  held = [];
  ses.always('SendEmail', (response) => void held.push(response));
});
afterEach(async () => {
  const workers = system.processes.filter((each) => each.running && each !== relay);
  await Promise.all(workers.map((each) => each.stop()));
  await system.reset();
  ses.reset();
});
afterAll(async () => {
  await system.close();
  await ses.close();
});

async function rowsWhere(condition: string): Promise<number> {
  return (await system.db.query(`select from email_sends where ${condition}`)).length;
}

async function startWorker(): Promise<SystemProcess> {
  return system.start('worker', {
    ...ses.environment,
    MAIL_PROVIDER: 'ses',
    MAIL_CONCURRENCY: String(SLOTS),
  });
}

/** Writes messages in one transaction, so that the relay claims all at once. */
async function writeMail(count: number): Promise<void> {
  const rows = createRows(system.db);
  await rows.domain(system.accountId, 'a.example');
  await system.db.query('begin');
  for (let n = 0; n < count; n += 1) await rows.email(-1000, system.accountId);
  await system.db.query('commit');
}

function accept(response: ServerResponse | undefined): void {
  response?.setHeader('content-type', 'application/json');
  response?.end(JSON.stringify({ MessageId: randomUUID() }));
}

test('a provider that answers one call at a time, and only while all slots are in flight, gets all mail of an account', async () => {
  await writeMail(MESSAGES);
  await startWorker();
  for (let left = MESSAGES; left > 0; left -= 1) {
    const inFlight = Math.min(SLOTS, left);
    await waitFor(() => held.length === inFlight, { what: `${inFlight} calls`, timeoutMs: 20_000 });
    await waitFor(async () => (await rowsWhere('taken_at is not null')) === inFlight, {
      what: 'messages in flight, and no others, to be taken',
      timeoutMs: 20_000,
    });
    accept(held.shift());
  }
  await waitFor(async () => (await rowsWhere('true')) === 0, { what: 'all mail to be sent' });
  expect(new Set(ses.messages.map(({ tags }) => tags['email_id'])).size).toBe(MESSAGES);
  expect(ses.messages).toHaveLength(MESSAGES);
});

test('SIGTERM: another worker sends the mail that waits for a slot, while the provider still has the rest in flight', async () => {
  await writeMail(2 * SLOTS);
  const stopped = await startWorker();
  await waitFor(() => held.length === SLOTS, { what: 'all slots to be in flight' });
  // All messages came in one job, so this worker holds them.
  expect(await rowsWhere('leased_until > now()')).toBe(2 * SLOTS);
  await startWorker();
  stopped.signal('SIGTERM');
  await waitFor(() => held.length === 2 * SLOTS, { what: 'the mail that waited to reach the provider' });
  expect(held.filter((response) => response.destroyed)).toEqual([]);
  expect(stopped.running).toBe(true);
  held.forEach(accept);
  expect(await stopped.exited()).toBe(0);
  await waitFor(async () => (await rowsWhere('true')) === 0, { what: 'all mail to be sent' });
  expect(new Set(ses.messages.map(({ tags }) => tags['email_id'])).size).toBe(2 * SLOTS);
  expect(ses.messages).toHaveLength(2 * SLOTS);
});
