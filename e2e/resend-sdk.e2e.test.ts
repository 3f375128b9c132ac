import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { publishKeys, startFakeSes, startSystem, waitFor } from '@postrider/testing';
import type { FakeSes, System } from '@postrider/testing';
import { Resend } from 'resend';

/* Resend's own SDK, with nothing changed but the base address. */

let ses: FakeSes;
let system: System;
let resend: Resend;

beforeEach(async () => {
  ses = await startFakeSes();
  system = await startSystem({
    env: { ...ses.environment, MAIL_PROVIDER: 'ses', KEY_RATE_LIMIT_PER_MINUTE: '10000' },
  });
  const api = await system.start('api');
  await system.start('relay');
  await system.start('worker');
  resend = new Resend(system.apiKey, { baseUrl: `http://127.0.0.1:${await api.port()}/v1` });
}, 90_000);
afterEach(async () => {
  await system.close();
  await ses.close();
});

type Answered<T> = { data: T; error: null } | { data: null; error: unknown };

/** A machine that is too busy may leave the limiter without an answer; such a request is refused, and may be repeated. */
async function counted<A extends Answered<unknown>>(call: () => Promise<A>): Promise<A> {
  return waitFor(
    async () => {
      const answer = await call();
      return (answer.error as { status?: number } | null)?.status === 429 ? false : answer;
    },
    { what: 'an answer other than 429' },
  );
}

/** What the SDK says of a success. */
async function dataOf<T>(call: () => Promise<Answered<T>>): Promise<T> {
  const answer = await counted(call);
  if (answer.data === null) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const MESSAGE = {
  from: 'Shop <orders@shop.example>',
  to: ['ann@example.net'],
  subject: 'Your order',
  html: '<p>Thanks</p>',
};

async function verifiedDomain(name: string): Promise<string> {
  const { id } = await dataOf(() => resend.domains.create({ name }));
  const identity = ses.identities.get(name);
  if (identity === undefined) throw new Error('the provider was not asked');
  publishKeys(identity);
  await dataOf(() => resend.domains.verify(id));
  return id;
}

test('domains: create, list, get, verify, remove', async () => {
  const created = await dataOf(() => resend.domains.create({ name: 'shop.example' }));
  expect(created).toMatchObject({ name: 'shop.example', status: 'pending', records: expect.any(Array) });
  expect((await dataOf(() => resend.domains.list())).data).toMatchObject([{ id: created.id }]);
  expect(await dataOf(() => resend.domains.get(created.id))).toMatchObject({ name: 'shop.example' });
  expect(await dataOf(() => resend.domains.verify(created.id))).toEqual({ object: 'domain', id: created.id });
  expect(await dataOf(() => resend.domains.remove(created.id))).toMatchObject({ deleted: true });
  expect((await dataOf(() => resend.domains.list())).data).toEqual([]);
}, 60_000);

test('emails: send, get, list, in a batch, and again under an idempotency key', async () => {
  await verifiedDomain('shop.example');
  const sent = await dataOf(() =>
    resend.emails.send({
      ...MESSAGE,
      replyTo: 'help@shop.example',
      tags: [{ name: 'kind', value: 'order' }],
      attachments: [{ filename: 'a.txt', content: Buffer.from('hello') }],
    }),
  );
  const read = await dataOf(() => resend.emails.get(sent.id));
  expect(read).toMatchObject({
    object: 'email',
    id: sent.id,
    from: MESSAGE.from,
    to: MESSAGE.to,
    html: MESSAGE.html,
  });
  const batch = await dataOf(() => resend.batch.send([MESSAGE, { ...MESSAGE, subject: 'Another' }]));
  expect(batch.data).toHaveLength(2);
  const ids = [sent.id, ...batch.data.map(({ id }) => id)];
  const page = await dataOf(() => resend.emails.list({ limit: 2 }));
  expect(page).toMatchObject({ object: 'list', has_more: true });
  expect(page.data.map(({ id }) => id).sort()).toEqual(ids.slice(1).sort());

  const first = await dataOf(() => resend.emails.send(MESSAGE, { idempotencyKey: 'order-1' }));
  expect(await dataOf(() => resend.emails.send(MESSAGE, { idempotencyKey: 'order-1' }))).toEqual(first);
  const other = await counted(() =>
    resend.emails.send({ ...MESSAGE, subject: 'No' }, { idempotencyKey: 'order-1' }),
  );
  expect(other.error).toMatchObject({ status: 409, title: 'Idempotency key in conflict' });

  await waitFor(() => ses.messages.length === 4, { what: 'the provider to get all four' });
  await waitFor(async () => typeof (await dataOf(() => resend.emails.get(sent.id))).message_id === 'string', {
    what: 'its id at the provider to be told',
  });
  expect(ses.messages.map(({ mail }) => mail.subject).sort()).toEqual([
    'Another',
    'Your order',
    'Your order',
    'Your order',
  ]);
}, 60_000);

test('suppressions: add, list, get, remove, and many at once', async () => {
  const { id } = await dataOf(() => resend.suppressions.add({ email: 'Ann@example.net' }));
  expect((await dataOf(() => resend.suppressions.list({ origin: 'manual' }))).data).toMatchObject([
    { id, email: 'ann@example.net', origin: 'manual' },
  ]);
  expect(await dataOf(() => resend.suppressions.get('ann@example.net'))).toMatchObject({ id });
  expect(await dataOf(() => resend.suppressions.remove(id))).toMatchObject({ deleted: true });
  const emails = ['b@example.net', 'c@example.net'];
  const added = await dataOf(() => resend.suppressions.batch.add({ emails }));
  expect(added.data).toHaveLength(2);
  expect((await dataOf(() => resend.suppressions.batch.remove({ emails }))).data).toHaveLength(2);
  expect((await dataOf(() => resend.suppressions.list())).data).toEqual([]);
}, 60_000);

test('topics: create, list, get, remove', async () => {
  const topic = { name: 'News', description: 'Once a week', defaultSubscription: 'opt_in' } as const;
  const { id } = await dataOf(() => resend.topics.create(topic));
  expect((await dataOf(() => resend.topics.list())).data).toMatchObject([{ id, name: 'News' }]);
  expect(await dataOf(() => resend.topics.get(id))).toMatchObject({ id, description: 'Once a week' });
  expect(await dataOf(() => resend.topics.remove(id))).toMatchObject({ deleted: true });
  expect((await counted(() => resend.topics.get(id))).error).toMatchObject({
    status: 404,
    title: 'Not found',
  });
}, 60_000);

test('a failure is read as one, with the problem document for an error', async () => {
  const unverified = await counted(() => resend.emails.send(MESSAGE));
  expect(unverified.data).toBeNull();
  expect(unverified.error).toMatchObject({
    type: expect.stringMatching(/\/domain-not-verified$/),
    status: 403,
    detail: expect.stringContaining('shop.example'),
    instance: unverified.headers?.['x-request-id'],
  });
  const invalid = await counted(() => resend.emails.send({ ...MESSAGE, to: 'nobody' }));
  expect(invalid.error).toMatchObject({ status: 422, errors: [{ field: 'to' }] });
  const missing = await counted(() => resend.emails.get('em_01jd0000000000000000000001'));
  expect(missing.error).toMatchObject({ status: 404 });
  const stranger = new Resend('pr_live_unknown', { baseUrl: resend['baseUrl'] });
  expect((await stranger.emails.list()).error).toMatchObject({ status: 401 });
}, 60_000);
