import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, Clock } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { draftOf } from '../../test/draft.ts';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { createWebhookEventStore } from '../events/webhook-events.ts';
import { createInboxStore } from '../inbound/inboxes.ts';
import { createReceivedMessageStore } from '../inbound/received-message-store.ts';
import { createEmailStore } from '../mail/emails.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { createRecoveryStore } from '../recoveries/recoveries.ts';
import { dropMailContents, dropOldMail } from '../retention/old-mail.ts';
import { dropReceivedMail } from '../retention/old-messages.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';

/* Hosts whose clocks differ from Postgres's clock. Postgres dates what is compared with it. */

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const ADDRESS = `a@${SHARED_DOMAIN}`;

const store = setupStore();
let accountId: AccountId;

beforeEach(async () => {
  await createRows(store.outside).clear();
  accountId = await store.newAccount();
});

const off = (ms: number): Clock => ({ now: () => new Date(Date.now() + ms) });

const inboxes = (clock: Clock) =>
  createInboxStore(store.db, clock, { sharedDomains: [SHARED_DOMAIN], reservedNames: [], perAccountMax: 9 });

const newInbox = async (clock: Clock, of = accountId) =>
  inboxes(clock).create({ accountId: of, kind: 'live', address: ADDRESS, name: 'A', fromName: null });

async function send(clock: Clock, count = 1): Promise<string> {
  const drafts = Array.from({ length: count }, () => draftOf({ from: ADDRESS }));
  const request = { accountId, kind: 'live', drafts, domains: [], idempotency: null } as const;
  return (await createEmailStore(store.db, clock).send(request)).kind;
}

describe.each([-400 * DAY_MS, -2 * HOUR_MS, 2 * HOUR_MS, 400 * DAY_MS])('a host that is %i ms off', (ms) => {
  const clock = off(ms);

  test('stores mail, sent and received, that retention keeps', async () => {
    await newInbox(clock);
    expect(await send(clock)).toBe('stored');
    const received = await createReceivedMessageStore(store.db, clock, [SHARED_DOMAIN]).receive(incoming());
    expect(received).toMatchObject({ kind: 'stored', messages: [{}] });
    await store.outside.query('delete from email_sends'); // sent
    const { pool } = store.db;
    expect(await Promise.all([dropMailContents(pool, 30), dropOldMail(pool, 365)])).toEqual([0, 0]);
    expect(await dropReceivedMail(pool, 30)).toBe(0);
    const dates = await store.outside.query(
      `select abs(extract(epoch from now() - created_at)) < 60 as now from emails
       union all select abs(extract(epoch from now() - created_at)) < 60 from messages
       union all select abs(extract(epoch from now() - last_at)) < 60 from inbox_threads`,
    );
    expect(dates).toEqual(Array.from({ length: 4 }, () => ({ now: true })));
  });

  test('makes a webhook that lists and recovers its first events', async () => {
    const webhooks = createWebhookStore(store.db, store.secrets, clock);
    const request = { accountId, endpoint: 'https://hooks.example/in', events: [], perAccountMax: 9 };
    const made = await webhooks.create(request);
    if (made.kind !== 'created') throw new Error(made.kind);
    const webhookId = made.webhook.id;
    await createSuppressionStore(store.db, off(0)).add(accountId, ['b@b.example']);
    const page = await createWebhookEventStore(store.db).list(accountId, webhookId, {}, { limit: 9 });
    expect(page).toMatchObject({ entries: [{ type: 'email.unsubscribed' }] });
    await store.outside.query('delete from deliveries'); // lost
    const lost = { since: new Date(Date.now() - HOUR_MS), types: [], only: 'undelivered' } as const;
    const count = await createRecoveryStore(store.db, clock).count(accountId, webhookId, lost);
    expect(count?.matched).toBe(1);
  });

  test('shares the hourly limit of an inbox with the other hosts', async () => {
    await newInbox(clock);
    expect([await send(off(0), 60), await send(clock), await send(off(0))]).toEqual([
      'stored',
      'inbox-over-limit',
      'inbox-over-limit',
    ]);
  });

  test('gives a reserved address to no other account, and reserves it no shorter', async () => {
    const other = await store.newAccount();
    for (const [deleting, creating] of [
      [clock, off(0)],
      [off(0), clock],
    ] as const) {
      // oxfmt-ignore
      await newInbox(off(0));
      await inboxes(deleting).delete({ accountId, kind: 'live' }, ADDRESS);
      expect(await newInbox(creating, other)).toEqual({ kind: 'exists' });
    }
  });
});
