import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createRows, startFakeSes, startSystem, waitFor } from '@postrider/testing';
import type { FakeSes, System } from '@postrider/testing';

/* A provider that is slow to answer is given as many messages at once as it may have, and no lease runs without a call. */

const SLOTS = 4;
const MESSAGES = 40;

let ses: FakeSes;
let system: System;
let held: ServerResponse[];

beforeEach(async () => {
  ses = await startFakeSes();
  system = await startSystem();
  held = [];
  ses.always('SendEmail', (response) => void held.push(response));
}, 60_000);
afterEach(async () => {
  await system.close();
  await ses.close();
});

async function rowsWhere(condition: string): Promise<number> {
  return (await system.db.query(`select from email_sends where ${condition}`)).length;
}

test('a provider that answers when all slots are in flight, and one call at a time, gets all mail of an account', async () => {
  const rows = createRows(system.db);
  await rows.domain(system.accountId, 'a.example');
  for (let n = 0; n < MESSAGES; n += 1) await rows.email(-1000, system.accountId);
  await system.start('relay');
  await system.start('worker', {
    ...ses.environment,
    MAIL_PROVIDER: 'ses',
    MAIL_CONCURRENCY: String(SLOTS),
  });
  for (let left = MESSAGES; left > 0; left -= 1) {
    const inFlight = Math.min(SLOTS, left);
    await waitFor(() => held.length === inFlight, { what: `${inFlight} calls`, timeoutMs: 20_000 });
    await waitFor(async () => (await rowsWhere('taken_at is not null')) === inFlight, {
      what: 'messages in flight, and no others, to be taken',
      timeoutMs: 20_000,
    });
    const response = held.shift();
    response?.setHeader('content-type', 'application/json');
    response?.end(JSON.stringify({ MessageId: `held-${left}` }));
  }
  await waitFor(async () => (await rowsWhere('true')) === 0, { what: 'all mail to be sent' });
  expect(new Set(ses.messages.map(({ tags }) => tags['email_id'])).size).toBe(MESSAGES);
  expect(ses.messages).toHaveLength(MESSAGES);
}, 180_000);
