import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { notificationDetailOf } from '@postrider/domain';
import type { AccountId, EmailId, EventId, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, newWebhook } from '@postrider/testing';
import { sendMail, sendToProvider } from '../../test/ended-mail.ts';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { refused } from '../../test/mail-outcomes.ts';
import { setupStore } from '../../test/open-store.ts';
import { takeHeld } from '../../test/taken-email.ts';
import { createInboxStore } from '../inbound/inboxes.ts';
import { createReceivedMessageStore } from '../inbound/received-message-store.ts';
import { createMailWork } from '../mail/mail-work.ts';
import { createProviderNotificationStore } from '../mail/provider-notifications.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';
import { readFates } from './event-fates.ts';
import { createWebhookEventStore } from './webhook-events.ts';

const store = setupStore();
const FROM = 'Shop <hello@SHOP.example>';
const BOOKS = 'xn--bcher-kva.example';
const INBOUND = [SHARED_DOMAIN, BOOKS];
const OTHERS = ['mail.shop.example', 'shop.exampl', 'hop.example', 'b.example', 'ada.example'];

let accountId: AccountId;
/** The account's webhooks: each gets mail of these domains. */
let webhooks: Record<'all' | 'shop' | 'inbound' | 'both' | 'others', WebhookId>;

beforeAll(async () => createRows(store.outside).clear());
beforeEach(async () => {
  accountId = await store.newAccount();
  webhooks = {
    all: await webhookOf(null),
    shop: await webhookOf(['shop.example']),
    inbound: await webhookOf(INBOUND),
    both: await webhookOf(['shop.example', ...INBOUND]),
    others: await webhookOf(OTHERS),
  };
  await webhookOf(['shop.example', ...INBOUND], await store.newAccount());
});

/** A webhook that is older than every event. */
async function webhookOf(domains: readonly string[] | null, owner = accountId): Promise<WebhookId> {
  const made = createWebhookStore(store.db, store.secrets, store.clock);
  const wish = { accountId: owner, endpoint: 'https://a.example/', events: [], domains };
  const { webhook } = await newWebhook(made, wish);
  expect(webhook.domains).toEqual(domains);
  await store.outside.query(`update webhooks set created_at = '2001-01-01' where id = $1`, [webhook.id]);
  return webhook.id;
}

const message = (from = FROM) => sendMail(store, accountId, { from, to: ['ada@ada.example'] });

async function report(emailId: EmailId, whose: object): Promise<unknown> {
  const said = { occurredAt: '2026-03-01T11:59:59.000Z', detail: notificationDetailOf({}) };
  return createProviderNotificationStore(store.db, store.clock).record({
    notificationId: `n/${emailId}`,
    emailId: null,
    providerMessageId: null,
    writtenEmailId: null,
    ...whose,
    suppress: [],
    event: { type: 'email.delivered', recipients: ['ada@ada.example'], ...said },
  });
}

/** @param written the domain of the recipient in the envelope. */
async function receive(domain: string, written: string): Promise<unknown> {
  const address = `${accountId}@${domain}`.toLowerCase();
  const limits = { sharedDomains: INBOUND, reservedNames: [], perAccountMax: 9 };
  await createInboxStore(store.db, store.clock, limits).create({
    accountId,
    kind: 'live',
    address,
    name: address,
    fromName: null,
  });
  const recipients = [`${accountId}+tag@${written}`];
  const from = 'Ann <ann@mail.shop.example>';
  const intake = createReceivedMessageStore(store.db, store.clock, INBOUND);
  return intake.receive(incoming({ recipients, from, to: ['x@b.example'] }));
}

type Names = readonly (keyof typeof webhooks)[];
const RECEIVERS: Names = ['all', 'inbound', 'both'];

/** Each way to record an event, with the webhooks that get it. */
const CAUSES: readonly [what: string, cause: () => Promise<unknown>, getters: Names][] = [
  ['mail that was sent', async () => sendToProvider(store, await message()), ['all', 'shop', 'both']],
  [
    'mail that failed',
    async () => {
      const work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
      return work.recordAlone(await takeHeld(work, { emailId: await message(), claim: 0 }), refused('no'));
    },
    ['all', 'shop', 'both'],
  ],
  [
    'a report by our id',
    async () => {
      const emailId = await message();
      return report(emailId, { emailId });
    },
    ['all', 'shop', 'both'],
  ],
  [
    'a report by the Message-ID',
    async () => {
      const emailId = await message();
      return report(emailId, { writtenEmailId: emailId });
    },
    ['all', 'shop', 'both'],
  ],
  ['mail of a subdomain', async () => sendToProvider(store, await message('a@a.shop.example')), ['all']],
  ['received mail', () => receive(SHARED_DOMAIN, SHARED_DOMAIN.toUpperCase()), RECEIVERS],
  ['mail for a domain with a final dot', () => receive(SHARED_DOMAIN, `${SHARED_DOMAIN}.`), RECEIVERS],
  ['mail for a domain in Unicode', () => receive(BOOKS, 'BÜCHER.example'), RECEIVERS],
  [
    'a suppression',
    () => createSuppressionStore(store.db, store.clock).add(accountId, ['ada@shop.example']),
    ['all'],
  ],
];

async function onlyEvent(): Promise<EventId> {
  const found = await store.outside.query<{ id: EventId }>('select id from events where account_id = $1', [
    accountId,
  ]);
  expect(found).toHaveLength(1);
  return found[0]?.id as EventId;
}

async function deliveredTo(): Promise<WebhookId[]> {
  const found = await store.outside.query<{ id: WebhookId }>(
    'select d.webhook_id as id from deliveries d join events e on e.id = d.event_id where e.account_id = $1 order by d.id',
    [accountId],
  );
  return found.map(({ id }) => id);
}

/** The webhooks whose lists have the event, and those at which it can be read. */
async function listedAt(eventId: EventId): Promise<{ listed: WebhookId[]; found: WebhookId[] }> {
  const events = createWebhookEventStore(store.db);
  const [listed, found]: [WebhookId[], WebhookId[]] = [[], []];
  for (const id of Object.values(webhooks)) {
    const page = await events.list(accountId, id, {}, { limit: 10 });
    if (typeof page === 'string') throw new Error(page);
    listed.push(...page.entries.map(() => id));
    if ((await events.find(accountId, id, eventId)) !== null) found.push(id);
  }
  return { listed, found };
}

describe('an event goes to the webhooks with its domain, and their lists agree:', () => {
  test.each(CAUSES)('%s', async (_, cause, getters) => {
    const expected = getters.map((name) => webhooks[name]).sort();
    const woken = store.wakeUps.length;
    await cause();
    const eventId = await onlyEvent();
    expect((await deliveredTo()).sort()).toEqual(expected);
    expect(
      store.wakeUps
        .slice(woken)
        .flatMap((wakeUp) => wakeUp.webhooks)
        .sort(),
    ).toEqual(expected);
    // Without their deliveries, the lists know the webhooks by the rule alone.
    await store.outside.query('delete from deliveries');
    const { listed, found } = await listedAt(eventId);
    expect(listed.sort()).toEqual(expected);
    expect(found.sort()).toEqual(expected);
    const fates = (await readFates(store.db, [eventId])).get(eventId) ?? [];
    expect(fates.map(({ webhookId }) => webhookId).sort()).toEqual(expected);
  });
});

test('of the messages of one statement, a webhook gets those of its domain', async () => {
  const work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
  const ids = [await message(), await message('a@b.example'), await message('a@c.example')];
  const taken = await Promise.all(ids.map((emailId) => takeHeld(work, { emailId, claim: 0 })));
  await work.endTogether(
    'sent',
    taken.map((email) => ({ email, providerMessageId: null, error: null })),
  );
  const count = async (id: WebhookId) => (await deliveredTo()).filter((each) => each === id).length;
  expect(await count(webhooks.all)).toBe(3);
  expect(await count(webhooks.shop)).toBe(1);
  expect(await count(webhooks.others)).toBe(1);
  expect(await count(webhooks.inbound)).toBe(0);
});

test('an event of another domain is not replayed at a webhook', async () => {
  await sendToProvider(store, await message());
  const [eventId, events] = [await onlyEvent(), createWebhookEventStore(store.db)];
  await store.outside.query('delete from deliveries');
  expect(await events.replay(accountId, webhooks.inbound, eventId, ACTOR)).toBe('missing');
  expect(await events.replay(accountId, webhooks.shop, eventId, ACTOR)).toBe('queued');
  expect(await deliveredTo()).toEqual([webhooks.shop]);
});
