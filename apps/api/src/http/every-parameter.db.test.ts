import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { emailFields, FILE } from '../../test/email-fields.ts';
import { KEYED_ROUTES, pathOf } from '../../test/every-route.ts';
import { rowOf, tableNames } from '../../test/everything-stored.ts';
import { setupFakeDomains } from '../../test/fake-domains.ts';
import { createOwnResources } from '../../test/own-resources.ts';
import type { OwnResources } from '../../test/own-resources.ts';
import { attachmentIdOf, companionOf } from '../../test/route-paths.ts';
import { SHARED_DOMAIN, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';
import { openApiDocument, openApiPath } from '../docs/openapi.ts';
import { writeCursor } from '../routes/attempts.ts';
import { writeEventCursor } from '../routes/events.ts';

/* A parameter that a route ignores is worse than a refused one: the customer believes that it narrows. */

const domains = setupFakeDomains();
const api = setupApi(() => ({ domainProvider: domains.provider }));
let tables: readonly string[];

beforeAll(async () => void (tables = await tableNames(api.database)));
beforeEach(() => api.rows.clear()); // each outcome reads every row twice

/** A request that the route answers with a success, and one value for each parameter and optional field. */
interface Trial {
  readonly id?: string;
  readonly body?: object;
  /** Values that select nothing of what is there, or that ask for something else. */
  readonly query?: Readonly<Record<string, string>>;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Makes what the route works on, in an account of its own. */
type Prepare = (own: OwnResources, caller: Caller) => Promise<Trial>;

const PAST = '2001-01-01T00:00:00Z';
const FUTURE = '2999-01-01T00:00:00Z';
const MESSAGE = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hello' };

/** A list with two entries. The cursors leave none on their side. */
const twoOf =
  (noun: 'domain' | 'topic' | 'inbox' | 'routingRule' | 'blockedSender' | 'message'): Prepare =>
  async (own) => {
    const older = await own.idOf(noun);
    const newer = await own.idOf(noun);
    return { query: paging(older, newer) };
  };

const paging = (oldest: string, newest: string) => ({ limit: '1', after: oldest, before: newest });

/** Sends a request that must succeed, and returns the id in its answer. */
async function post(caller: Caller, path: string, body: object): Promise<string> {
  const answer = await request(api.url).post(path).set('authorization', caller.authorization).send(body);
  expect(answer.status).toBeLessThan(300);
  return (answer.body as { id: string }).id;
}

async function complaint(own: OwnResources): Promise<string> {
  const id = await own.idOf('suppression');
  await api.database.query("update suppressions set origin = 'complaint' where id = $1", [id]);
  return id;
}

/** Adds a second thread or a second message beside what a threaded inbox has. */
async function threadedInbox(own: OwnResources, second: 'thread' | 'message') {
  const id = await own.idOf('threadedInbox');
  const thread = companionOf('thread', 'thr', id);
  const message = companionOf('message', 'msg', id);
  const other = await own.idOf('message');
  const otherThread = second === 'thread' ? newId('thread', systemClock) : thread;
  if (second === 'thread') {
    await api.database.query(
      `insert into inbox_threads select $2, inbox_id, subject, last_at + interval '1 s', created_at from inbox_threads where id = $1`,
      [thread, otherThread],
    );
  }
  await api.database.query(
    `update messages set inbox_id = $2, thread_id = $3, created_at = created_at + interval '1 s' where id = $1`,
    [other, id, otherThread],
  );
  const [oldest, newest] = second === 'thread' ? [thread, otherThread] : [message, other];
  return { id, query: paging(oldest, newest) };
}

const EVENT_FILTERS = {
  type: 'email.opened',
  since: FUTURE,
  until: PAST,
  after: writeEventCursor(2n ** 62n),
  limit: '1',
};

async function twoEvents({ accountId }: Caller, emailId: string | null): Promise<void> {
  for (const text of ['1', '2']) {
    await api.database.query(
      `insert into events (id, account_id, type, created_at, data) values ($1, $2, 'email.sent', now(), $3)`,
      [newId('event', systemClock), accountId, JSON.stringify({ email_id: emailId, text })],
    );
  }
}

const TRIALS: Readonly<Record<string, Prepare>> = {
  'POST /v1/webhooks': async () => ({
    body: { endpoint: 'https://a.example/' },
    fields: { events: ['email.sent'], description: 'Help', domains: ['b.example'], headers: { 'X-A': 'a' } },
  }),
  'GET /v1/webhooks/:id/attempts': async (own) => {
    const id = await own.idOf('webhook');
    await api.database.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, type)
       select now(), 1, $1, $2, n, 12, 'email.sent' from generate_series(1, 2) n`,
      [newId('event', systemClock), id],
    );
    const after = writeCursor({ startedUs: 1n, deliveryId: 1n, attempt: 1 });
    return { id, query: { event_id: newId('event', systemClock), after, limit: '1' } };
  },
  'GET /v1/webhooks/:id/events': async (own, caller) => {
    const id = await own.idOf('eventedWebhook');
    await twoEvents(caller, null);
    const other = { recipient: 'nobody@b.example', email_id: newId('email', systemClock), status: 'success' };
    return { id, query: { ...EVENT_FILTERS, ...other, after: writeEventCursor(1n) } };
  },
  'GET /v1/webhooks/:id/events/:event/attempts': async (own) => {
    const id = await own.idOf('eventedWebhook');
    await api.database.query(
      'insert into attempts select started_at, 2, event_id, webhook_id, 2, 1 from attempts where webhook_id = $1',
      [id],
    );
    return { id, query: { after: writeCursor({ startedUs: 1n, deliveryId: 1n, attempt: 1 }), limit: '1' } };
  },
  'POST /v1/webhooks/:id/recover': async (own) => {
    const only = { types: ['email.opened'], only: 'all', until: '2001-02-01T00:00:00Z' };
    const id = await own.idOf('eventedWebhook'); // its event was dropped
    return { id, body: { since: PAST }, fields: { ...only, dry_run: true, rate: 7, expected: 99 } };
  },
  'GET /v1/webhooks/:id/recoveries': async (own) => {
    const [id, after] = [await own.idOf('recoveredWebhook'), newId('recovery', systemClock)];
    const older = `jsonb_build_object('id', $2::text, 'created_at', '2001-01-01', 'ended_at', now())`;
    await api.database.query(
      `insert into recoveries select (jsonb_populate_record(r, ${older})).* from recoveries r where webhook_id = $1`,
      [id, after],
    );
    return { id, query: { after, limit: '1' } };
  },
  'GET /v1/events': async (_, caller) => {
    await twoEvents(caller, null);
    const recipient = 'nobody@b.example';
    return { query: { ...EVENT_FILTERS, recipient, email_id: newId('email', systemClock) } };
  },
  'GET /v1/emails/:id/events': async (own, caller) => {
    const id = await own.idOf('email');
    await twoEvents(caller, id);
    return { id, query: EVENT_FILTERS };
  },
  'GET /v1/webhooks/dead-letters': async (own) => {
    const oldest = await own.idOf('deadLetter');
    await own.idOf('deadLetter');
    const webhook = newId('webhook', systemClock);
    const filters = { type: 'email.opened', reason: 'rejected', webhook };
    return { query: { ...filters, after: oldest, since: FUTURE, until: PAST } };
  },
  'POST /v1/webhooks/dead-letters/replay': async (own, { accountId }) => {
    await own.idOf('deadLetter');
    const [letter] = await api.database.query<{ webhook: string }>(
      'select webhook_id as webhook from dead_letters where account_id = $1',
      [accountId],
    );
    const times = { before: PAST, since: FUTURE, until: PAST };
    return {
      body: { webhook: letter?.webhook },
      fields: { type: 'email.opened', reason: 'rejected', ...times },
    };
  },
  'POST /v1/emails': async (own) => ({ body: MESSAGE, fields: emailFields(await own.idOf('topic')) }),
  'POST /v1/emails/batch': async (own) => ({ body: [MESSAGE], fields: emailFields(await own.idOf('topic')) }),
  'GET /v1/emails': async (_, caller) => {
    const older = await post(caller, '/v1/emails', MESSAGE);
    return { query: paging(older, await post(caller, '/v1/emails', MESSAGE)) };
  },
  'GET /v1/emails/receiving': twoOf('message'),
  'GET /v1/emails/receiving/:id': async (own) => {
    const id = await own.idOf('message');
    const blob = await api.blobs.put(Buffer.from('png'));
    await api.database.query(`update messages set html = '<img src="cid:a">' where id = $1`, [id]);
    await api.database.query(
      "update message_attachments set content_id = 'a', content_type = 'image/png', blob = $2 where message_id = $1",
      [id, blob],
    );
    return { id, query: { html_format: 'cid' } };
  },
  'GET /v1/emails/receiving/:id/attachments': async (own) => {
    const id = await own.idOf('message');
    const [first, second] = [attachmentIdOf(id), newId('attachment', systemClock)];
    await api.database.query(
      `insert into message_attachments (id, message_id, position, content_type, size, blob)
       select $2, message_id, 1, content_type, size, blob from message_attachments where id = $1`,
      [first, second],
    );
    return { id, query: paging(second, first) };
  },
  'GET /v1/emails/:id/attachments': async (_, caller) => {
    const id = await post(caller, '/v1/emails', { ...MESSAGE, attachments: [FILE, FILE] });
    return { id, query: paging(`${id}.1`, `${id}.0`) };
  },
  'GET /v1/emails/metrics': async (own, caller) => {
    await twoEvents(caller, await own.idOf('email'));
    const ids = { domain_id: newId('domain', systemClock), email_id: newId('email', systemClock) };
    return {
      query: {
        ...{ start_date: FUTURE, end_date: PAST, timezone: 'Mars', granularity: 'hourly' },
        ...{ metrics: 'opened', dimensions: 'period', ...ids },
      },
    };
  },
  'GET /v1/domains': twoOf('domain'),
  'PATCH /v1/domains/:id': async (own) => ({
    id: await own.idOf('domain'),
    body: {},
    fields: {
      open_tracking: true,
      click_tracking: true,
      tls: 'enforced',
      capabilities: { sending: 'disabled' },
      tracking_subdomain: 'links',
    },
  }),
  'GET /v1/suppressions': async (own) => {
    const older = await own.idOf('suppression');
    return { query: { ...paging(older, await own.idOf('suppression')), origin: 'bounce' } };
  },
  'DELETE /v1/suppressions/:id': async (own) => ({
    id: await complaint(own),
    body: {},
    query: { reason: 'asked' },
    fields: { reason: 'asked' },
  }),
  'POST /v1/suppressions/batch/remove': async (own) => ({
    body: { ids: [await complaint(own)] },
    query: { reason: 'asked' },
    fields: { reason: 'asked' },
  }),
  'POST /v1/topics': async () => ({
    body: { name: 'News', default_subscription: 'opt_in' },
    fields: { description: 'Weekly' },
  }),
  'GET /v1/topics': twoOf('topic'),
  'PATCH /v1/topics/:id': async (own) => ({
    id: await own.idOf('topic'),
    body: { name: 'Old' },
    fields: { name: 'New', description: 'Weekly' },
  }),
  'POST /v1/inboxes': async (_, { accountId }) => ({
    body: { email_address: `in.${accountId.slice(-10)}@${SHARED_DOMAIN}` },
    fields: { name: 'Help', from_name: 'Help' },
  }),
  'GET /v1/inboxes': twoOf('inbox'),
  'PATCH /v1/inboxes/:id': async (own) => ({
    id: await own.idOf('inbox'),
    body: { name: 'Old' },
    fields: { name: 'New', from_name: 'Help' },
  }),
  'GET /v1/inboxes/:id/threads': async (own) => {
    const { id, query } = await threadedInbox(own, 'thread');
    return { id, query: { ...query, read: 'true', folders: 'archive', labels: 'a' } };
  },
  'GET /v1/inboxes/:id/threads/search': async (own) => {
    const { id, query } = await threadedInbox(own, 'thread');
    const words = {
      query: 'nothing',
      from: 'zz',
      to: 'zz',
      cc: 'x',
      bcc: 'x',
      folders: 'archive',
      labels: 'a',
    };
    const dates = { start_date: FUTURE, end_date: PAST };
    return { id, query: { ...query, ...words, ...dates, read: 'true', has_attachment: 'true' } };
  },
  'GET /v1/inboxes/:id/threads/:thread/emails': async (own) => threadedInbox(own, 'message'),
  'POST /v1/inboxes/:id/threads/:thread/emails/:email/reply': async (own) => {
    const { text, html, cc, bcc, headers, attachments } = emailFields('');
    return {
      id: await own.idOf('threadedInbox'),
      body: { text: 'Hello' },
      fields: { text, html, cc, bcc, headers, attachments, subject: 'Other', reply_all: true },
    };
  },
  'POST /v1/inboxes/:id/threads/:thread/emails/:email/forward': async (own) => {
    const { text, html, cc, bcc, headers, attachments } = emailFields('');
    return {
      id: await own.idOf('threadedInbox'),
      body: { to: 'b@b.example' },
      fields: { text, html, cc, bcc, headers, attachments, subject: 'Other' },
    };
  },
  'GET /v1/inbound/messages': async (own, caller) => {
    const { query } = await twoOf('message')(own, caller);
    return { query: { ...query, status: 'held', inbox_id: newId('inbox', systemClock) } };
  },
  'GET /v1/inbound/messages/:id/body': async (own) => ({
    id: await own.idOf('message'),
    query: { part: 'html' }, // it has none
  }),
  'POST /v1/inbound/routes': async (_, { accountId }) => ({
    body: { match: `rule.${accountId.slice(-10)}@${SHARED_DOMAIN}`, endpoint: 'https://a.example/' },
    fields: { events: ['message.held'], name: 'Help' },
  }),
  'GET /v1/inbound/routes': twoOf('routingRule'),
  'GET /v1/inbound/blocked-senders': twoOf('blockedSender'),
};

interface Schema {
  readonly $ref?: string;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

const DOCUMENT = openApiDocument() as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/** The fields that a body may lack. A body that is a list has those of its entries. */
function optionalFields({ $ref, items, anyOf, properties, required = [] }: Schema): string[] {
  if ($ref !== undefined)
    return optionalFields(DOCUMENT.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {});
  if (items !== undefined) return optionalFields(items);
  const own = Object.keys(properties ?? {}).filter((name) => !required.includes(name));
  const alternatives = properties === undefined ? (anyOf ?? []).flatMap(optionalFields) : [];
  return [...new Set([...own, ...alternatives])].sort();
}

const ROUTES = KEYED_ROUTES.map((route) => {
  const operation = DOCUMENT.paths[openApiPath(route.path)]?.[route.method] ?? {};
  const parameters = (operation.parameters ?? [])
    .filter((each) => each.in === 'query')
    .map(({ name }) => name);
  const schema = operation.requestBody?.content['application/json']?.schema ?? {};
  return { ...route, parameters: parameters.sort(), fields: optionalFields(schema) };
}).filter(({ parameters, fields }) => parameters.length + fields.length > 0);

type Tried = (typeof ROUTES)[number];

/** Prepares an account, then sends one request. @returns the answer and the rows that it added and removed. */
async function outcomeOf(
  route: Tried,
  change: (trial: Trial) => { query?: object; body?: object },
): Promise<string> {
  const caller = await api.newCaller({ scopes: SCOPES });
  const trial = await TRIALS[route.name]?.(createOwnResources(api, caller), caller);
  if (trial === undefined) throw new Error('the route needs an entry in TRIALS');
  const { query = {}, body = trial.body } = change(trial);
  // A GET changes no row, so its answer must tell.
  const rowsNow = async () => (route.method === 'get' ? new Set<string>() : everyRow());
  const before = await rowsNow();
  const answer = await request(api.url)
    [route.method](pathOf({ ...route, query: '' }, trial.id))
    .set('authorization', caller.authorization)
    .query({ ...Object.fromEntries(new URLSearchParams(route.query)), ...query })
    .send(body);
  const after = await rowsNow();
  const rows = {
    added: [...after].filter((row) => !before.has(row)),
    removed: [...before].filter((row) => !after.has(row)),
  };
  return masked(JSON.stringify({ status: answer.status, body: answer.body as unknown, rows }), caller);
}

/** Every row of every table as JSON, behind the name of its table. */
async function everyRow(): Promise<ReadonlySet<string>> {
  const of = (table: string) => `select '${table} ' || (${rowOf(table)})::text as row from ${table} t`;
  const rows = await api.database.query<{ row: string }>(tables.map(of).join(' union all '));
  return new Set(rows.map(({ row }) => row));
}

/** Hides what differs between two equal requests of two accounts. */
function masked(outcome: string, { accountId }: Caller): string {
  return outcome
    .replaceAll(accountId.slice(-10), '~')
    .replaceAll(/\breq_\w+/g, '<id>')
    .replaceAll(/\b[a-z]{2,4}_[0-9a-hjkmnp-tv-z]{16,26}~?/g, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d(?::?\d\d)?)?/g, '<time>')
    .replaceAll(/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g, '<time>')
    .replaceAll(/"(id|next_cursor)":"[\w-]+"/g, (_, name) => `"${name}":"<cursor>"`)
    .replaceAll(/whsec_[\w-]+/g, '<secret>')
    .replaceAll(/links\/[\w-]+/g, '<link>')
    .replaceAll(/\\\\x[0-9a-f]+/g, '<bytes>')
    .replaceAll(/(?:id|last_position)\\": \d+/g, '<number>');
}

describe.each(ROUTES.map((route) => [route.name, route] as const))('%s', (_, route) => {
  const changes = [
    ...route.parameters.map((name) => ({
      name,
      change: ({ query = {} }: Trial) => ({ query: { [name]: query[name] } }),
      isGiven: ({ query = {} }: Trial) => Object.hasOwn(query, name),
    })),
    ...route.fields.map((name) => ({
      name,
      change: ({ body, fields = {} }: Trial) => ({ body: withField(body, name, fields[name]) }),
      isGiven: ({ fields = {} }: Trial) => Object.hasOwn(fields, name),
    })),
  ];

  test('each query parameter and each optional field changes the outcome', async () => {
    const unchanged = await outcomeOf(route, () => ({}));
    expect(await outcomeOf(route, () => ({}))).toBe(unchanged);
    const ignored: string[] = [];
    for (const { name, change, isGiven } of changes) {
      const outcome = await outcomeOf(route, (trial) => {
        if (!isGiven(trial)) throw new Error(`TRIALS has no value for ${name}`);
        return change(trial);
      });
      if (outcome === unchanged) ignored.push(name);
    }
    expect(ignored).toEqual([]);
  });
});

function withField(body: object = {}, name: string, value: unknown): object {
  return Array.isArray(body)
    ? body.map((entry: object) => withField(entry, name, value))
    : { ...body, [name]: value };
}
