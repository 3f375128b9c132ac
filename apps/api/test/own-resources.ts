import { createLinkTokens, createUnsubscribeTokens } from '@postrider/domain';
import type { AccountId, MessageId, TopicId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { createRows } from '@postrider/testing';
import type { RouteContract } from './fuzz/route-contract.ts';
import { attachmentIdOf, companionOf } from './route-paths.ts';
import { SECRET_KEYS, SHARED_DOMAIN } from './start-api.ts';
import type { Caller, TestApi } from './start-api.ts';

type Noun = NonNullable<RouteContract['noun']>;

/** What an account has, made by requests of its own. */
export interface OwnResources {
  /** What the `:id` of a path names: a new one, but for an email, of which one is enough. */
  idOf(noun: Noun): Promise<string>;
  /** The ids of all that was made. */
  readonly made: ReadonlySet<string>;
}

const OWN_EMAIL = {
  from: 'a@a.example',
  to: 'b@b.example',
  subject: '',
  text: '',
  attachments: [{ filename: 'a.txt', content: 'aGk=' }],
};

/** @param caller with every scope. */
export function createOwnResources(api: TestApi, { accountId, authorization }: Caller): OwnResources {
  const made = new Set<string>();

  async function create(path: string, body: object): Promise<string> {
    const response = await fetch(`${api.url}${path}`, {
      method: 'POST',
      headers: { authorization },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path} answered ${response.status}: ${await response.text()}`);
    const { id } = (await response.json()) as { id: string };
    made.add(id);
    return id;
  }

  let names = 0;
  // Two accounts cannot have one domain.
  const name = () => `own${(names += 1)}.${accountId.slice(-10)}.example`;
  const webhook = () => create('/v1/webhooks', { endpoint: 'https://own.example/' });
  const topic = () => create('/v1/topics', { name: 'Own', default_subscription: 'opt_in' });
  const email = () => create('/v1/emails', OWN_EMAIL);
  const noting = async <Id extends string>(id: Promise<Id>): Promise<Id> => {
    made.add(await id);
    return id;
  };
  const message = (held: boolean) => noting(insertMessage(api, accountId, held));
  const inbox = () =>
    create('/v1/inboxes', { email_address: `own${(names += 1)}.${accountId.slice(-10)}@${SHARED_DOMAIN}` });
  const kept: { webhook?: Promise<string>; topic?: Promise<string>; email?: Promise<string> } = {};

  const makers: Readonly<Record<Noun, () => Promise<string>>> = {
    webhook,
    eventedWebhook: () => withCompanion(webhook(), (id) => noting(insertEvent(api, accountId, id))),
    recoveredWebhook: () => withCompanion(webhook(), (id) => noting(insertRecovery(api, accountId, id))),
    // Only deliveries that fail eight times would make one.
    deadLetter: async () => api.newDeadLetter(accountId, await (kept.webhook ??= webhook())),
    email: () => (kept.email ??= email()),
    domain: () => create('/v1/domains', { name: name() }),
    topic,
    inbox,
    threadedInbox: () => withCompanion(inbox(), (id) => noting(insertThread(api, accountId, id))),
    message: () => message(false),
    heldMessage: () => message(true),
    routingRule: () =>
      create('/v1/inbound/routes', {
        match: `rule${(names += 1)}.${accountId.slice(-10)}@${SHARED_DOMAIN}`,
        endpoint: 'https://own.example/rule',
      }),
    blockedSender: () => create('/v1/inbound/blocked-senders', { sender: `own@${name()}` }),
    suppression: () => create('/v1/suppressions', { email: `own@${name()}` }),
    async token() {
      const topicId = (await (kept.topic ??= topic())) as TopicId;
      return createUnsubscribeTokens(SECRET_KEYS).seal({ accountId, topicId, address: `own@${name()}` });
    },
    async link() {
      const target = { messageId: await message(false), attachmentId: null };
      return createLinkTokens(SECRET_KEYS, systemClock).seal(target).token;
    },
  };
  return { made, idOf: (noun) => makers[noun]() };
}

/** A message with one attachment, and its bytes. */
async function insertMessage(api: TestApi, accountId: AccountId, held: boolean): Promise<MessageId> {
  const blob = await api.blobs.put(Buffer.from('Subject: Own\r\n\r\nOwn\r\n'));
  const id = await createRows(api.database).message({ accountId, held, blob, attachments: [{ blob }] });
  await api.database.query('update message_attachments set id = $2 where message_id = $1', [
    ...[id, attachmentIdOf(id)],
  ]);
  return id;
}

/** @returns the id of the owner. */
async function withCompanion(
  owner: Promise<string>,
  insert: (ownerId: string) => Promise<string>,
): Promise<string> {
  const id = await owner;
  await insert(id);
  return id;
}

/** An event that a webhook gets, with one attempt. @returns the event's id. */
async function insertEvent(api: TestApi, accountId: AccountId, webhookId: string): Promise<string> {
  const id = companionOf('event', 'evt', webhookId);
  await api.database.query(
    `insert into events (id, account_id, type, created_at, data) values ($1, $2, 'email.sent', now(), '{}')`,
    [id, accountId],
  );
  await api.database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer, type)
     values (now(), 1, $1, $2, 1, 12, 503, 'HTTP 503', '\\x62757379', 'email.sent')`,
    [id, webhookId],
  );
  return id;
}

/** A running recovery of nothing. @returns the recovery's id. */
async function insertRecovery(api: TestApi, accountId: AccountId, webhookId: string): Promise<string> {
  const id = companionOf('recovery', 'rec', webhookId);
  await api.database.query(
    `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched, dead_letters,
                             has_more, position, last_position, created_at)
     values ($1, $2, $3, now(), now(), '{}', true, 200, 0, 0, false, 0, 0, now())`,
    [id, accountId, webhookId],
  );
  return id;
}

/** A thread of an inbox, with one message. @returns the message's id. */
async function insertThread(api: TestApi, accountId: AccountId, inboxId: string): Promise<string> {
  const [threadId, messageId] = [
    companionOf('thread', 'thr', inboxId),
    companionOf('message', 'msg', inboxId),
  ];
  await api.database.query(`insert into inbox_threads values ($1, $2, 'Hi', now(), now())`, [
    threadId,
    inboxId,
  ]);
  const own = await createRows(api.database).message({ accountId });
  await api.database.query('update messages set id = $2, inbox_id = $3, thread_id = $4 where id = $1', [
    ...[own, messageId, inboxId, threadId],
  ]);
  return messageId;
}
