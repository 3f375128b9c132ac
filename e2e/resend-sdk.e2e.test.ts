import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { publishKeys, startFakeSes, startZoneServer, waitFor } from '@postrider/testing';
import type { FakeSes, SesMessage, SystemProcess, ZoneServer } from '@postrider/testing';
import { type ListInboxThreadsOptions, Resend } from 'resend';
import { sendMail } from './send-mail.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Resend's own SDK, with nothing changed but the base address. */

const PUBLIC_URL = 'https://mail.example.com';

let ses: FakeSes;
let names: ZoneServer;
let system: System;
let resend: Resend;
let api: SystemProcess;
let inbound: SystemProcess;

beforeAll(async () => {
  [ses, names] = await Promise.all([startFakeSes(), startZoneServer()]);
  const options = { MAIL_PROVIDER: 'ses', KEY_RATE_LIMIT_PER_MINUTE: '10000', PUBLIC_URL };
  system = await startSystem({ env: { ...ses.environment, DNS_SERVERS: names.address, ...options } });
  [api, inbound] = await system.startAll(['api', 'inbound', 'relay', 'worker']);
}, 90_000);
afterAll(async () => {
  await system.close();
  await Promise.all([ses.close(), names.close()]);
});
beforeEach(async () => {
  await system.reset();
  ses.reset();
  resend = new Resend(system.apiKey, { baseUrl: `http://127.0.0.1:${await api.port()}/v1` });
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

/** Messages that the provider has got, by their subjects. */
async function handedOver(subjects: readonly string[]): Promise<SesMessage[]> {
  await ses.waitForRequests('SendEmail', subjects.length, 30_000);
  expect(ses.messages.map(({ mail }) => mail.subject).sort()).toEqual([...subjects].sort());
  return subjects.flatMap((subject) => ses.messages.filter(({ mail }) => mail.subject === subject));
}

test('emails: every field of a message reaches the provider', async () => {
  await verifiedDomain('shop.example');
  const topic = await dataOf(() => resend.topics.create({ name: 'News', defaultSubscription: 'opt_in' }));
  const logo = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]);
  const whole = await dataOf(() =>
    resend.emails.send({
      ...MESSAGE,
      to: ['Ann <ann@example.net>', 'ben@example.net'],
      cc: 'Cleo Grün <cleo@example.net>',
      bcc: ['dan@example.net', 'eve@example.net'],
      replyTo: ['Help <help@shop.example>', 'owner@shop.example'],
      subject: 'Grüße',
      html: '<p>Thanks <img src="cid:logo"></p>',
      text: 'Thanks',
      headers: { 'X-Order': '4711', References: '<1@shop.example>' },
      tags: [
        { name: 'kind', value: 'order' },
        { name: 'plan', value: 'free-2' },
      ],
      attachments: [
        { filename: 'a.txt', content: Buffer.from('hello') },
        { filename: 'logo', content: logo.toString('base64'), contentType: 'image/png', contentId: 'logo' },
      ],
    }),
  );
  const news = await dataOf(() => resend.emails.send({ ...MESSAGE, subject: 'News', topicId: topic.id }));
  const [message, aboutTopic] = await handedOver(['Grüße', 'News']);

  expect(message?.destination).toEqual({
    ToAddresses: ['ann@example.net', 'ben@example.net'],
    CcAddresses: ['cleo@example.net'],
    BccAddresses: ['dan@example.net', 'eve@example.net'],
  });
  expect(message?.tags).toEqual({ email_id: whole.id, kind: 'order', plan: 'free-2' });
  expect(message?.mail).toMatchObject({
    from: { name: 'Shop', address: 'orders@shop.example' },
    to: [
      { name: 'Ann', address: 'ann@example.net' },
      { name: '', address: 'ben@example.net' },
    ],
    cc: [{ name: 'Cleo Grün', address: 'cleo@example.net' }],
    replyTo: [
      { name: 'Help', address: 'help@shop.example' },
      { name: '', address: 'owner@shop.example' },
    ],
    headers: expect.arrayContaining([
      expect.objectContaining({ key: 'x-order', value: '4711' }),
      expect.objectContaining({ key: 'references', value: '<1@shop.example>' }),
    ]),
    attachments: [
      { filename: 'logo', mimeType: 'image/png', disposition: 'inline', contentId: '<logo>' },
      { filename: 'a.txt', mimeType: 'text/plain', disposition: 'attachment' },
    ],
  });
  expect(message?.mail.html?.trim()).toBe('<p>Thanks <img src="cid:logo"></p>');
  expect(message?.mail.text?.trim()).toBe('Thanks');
  expect(message?.mail.attachments.map(({ content }) => Buffer.from(content as ArrayBuffer))).toEqual([
    logo,
    Buffer.from('hello'),
  ]);
  expect(message?.raw.toString('latin1')).not.toMatch(/dan@|eve@/);

  expect(aboutTopic?.mail.headers).toContainEqual(
    expect.objectContaining({
      key: 'list-unsubscribe',
      value: expect.stringMatching(/^<https:\/\/mail[.]example[.]com\/u\/.+>$/),
    }),
  );
  expect(await dataOf(() => resend.emails.get(news.id))).toMatchObject({ topic_id: topic.id });
}, 60_000);

test('emails: a batch under an idempotency key is sent once, and listed in pages, forwards and back', async () => {
  await verifiedDomain('shop.example');
  const subjects = ['One', 'Two', 'Three', 'Four', 'Five'];
  const batch = subjects.map((subject) => ({ ...MESSAGE, subject }));
  const sent = await dataOf(() => resend.batch.send(batch, { idempotencyKey: 'batch-1' }));
  expect(sent.data).toHaveLength(5);
  expect(await dataOf(() => resend.batch.send(batch, { idempotencyKey: 'batch-1' }))).toEqual(sent);
  const other = await counted(() => resend.batch.send(batch.slice(1), { idempotencyKey: 'batch-1' }));
  expect(other.error).toMatchObject({ status: 409, title: 'Idempotency key in conflict' });
  await handedOver(subjects);

  const [five = '', four = '', three = '', two = '', one = ''] = sent.data.map(({ id }) => id).reverse();
  const page = async (options: Parameters<typeof resend.emails.list>[0]) => {
    const { data, has_more } = await dataOf(() => resend.emails.list(options));
    return [data.map(({ id }) => id), has_more];
  };
  expect(await page({ limit: 2 })).toEqual([[five, four], true]);
  expect(await page({ limit: 2, after: four })).toEqual([[three, two], true]);
  expect(await page({ limit: 2, after: two })).toEqual([[one], false]);
  expect(await page({ limit: 2, before: two })).toEqual([[four, three], true]);
  expect(await page({ limit: 2, before: three })).toEqual([[five, four], false]);
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

test('inboxes: create, list, get by id and by address, remove', async () => {
  await verifiedDomain('shop.example');
  const emailAddress = 'support@shop.example';
  const created = await dataOf(() => resend.inboxes.create({ emailAddress, fromName: 'Support' }));
  expect(created).toEqual({ object: 'inbox', id: expect.any(String) });
  const entry = {
    id: created.id,
    name: emailAddress,
    email_address: emailAddress,
    from_name: 'Support',
    unread: 0,
    last_received: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  };
  const list = { object: 'list', has_more: false, data: [entry] };
  expect(await dataOf(() => resend.inboxes.list())).toEqual(list);
  for (const named of [created.id, emailAddress]) {
    expect(await dataOf(() => resend.inboxes.get(named))).toMatchObject({ object: 'inbox', ...entry });
  }
  expect(await dataOf(() => resend.inboxes.remove(created.id))).toEqual({
    object: 'inbox',
    id: created.id,
    deleted: true,
  });
  expect((await counted(() => resend.inboxes.get(created.id))).error).toMatchObject({ status: 404 });
}, 60_000);

test('inboxes: a thread is listed, read and marked as read; its emails are listed, read and replied to', async () => {
  await verifiedDomain('shop.example');
  const emailAddress = 'support@shop.example';
  const { id: inboxId } = await dataOf(() => resend.inboxes.create({ emailAddress }));
  await sendMail(await inbound.smtpPort(), {
    from: 'Ann <ann@example.net>',
    to: emailAddress,
    subject: 'My order',
    text: 'Where is it?',
    messageId: '<1@example.net>',
    attachments: [{ filename: 'a.txt', content: 'hello' }],
  });

  const { data: threads } = await dataOf(() => resend.inboxes.threads.list({ emailAddress, read: false }));
  const threadId = threads[0]?.id ?? '';
  expect(threads).toEqual([
    {
      id: threadId,
      subject: 'My order',
      from: 'Ann <ann@example.net>',
      to: [emailAddress],
      cc: [],
      bcc: [],
      labels: [],
      email_count: 1,
      has_attachment: true,
      has_draft: false,
      read: false,
      received_at: expect.any(String),
      folder: 'inbox',
    },
  ]);
  const summary = { object: 'inbox_thread', id: threadId, subject: 'My order', folder: 'inbox', labels: [] };
  expect(await dataOf(() => resend.inboxes.threads.get({ inboxId, threadId }))).toEqual({
    ...summary,
    read: false,
  });
  expect(await dataOf(() => resend.inboxes.threads.update({ inboxId, threadId, read: true }))).toEqual({
    ...summary,
    read: true,
  });
  const listed = async (filter: Pick<ListInboxThreadsOptions, 'folders' | 'labels' | 'read'>) =>
    (await dataOf(() => resend.inboxes.threads.list({ inboxId, ...filter }))).data.map(({ id }) => id);
  expect(await listed({ read: false })).toEqual([]);
  expect(await listed({ read: true, folders: ['inbox', 'archive'] })).toEqual([threadId]);
  expect(await listed({ folders: ['archive', 'spam'] })).toEqual([]);
  expect(await listed({ labels: ['one', 'two'] })).toEqual([]);

  const { data: emails } = await dataOf(() => resend.inboxes.threads.emails.list({ inboxId, threadId }));
  const emailId = emails[0]?.id ?? '';
  expect(emails).toMatchObject([
    {
      direction: 'inbound',
      from: 'Ann <ann@example.net>',
      to: [emailAddress],
      subject: 'My order',
      message_id: '<1@example.net>',
      attachments: [{ filename: 'a.txt', size: 5 }],
      read: true,
    },
  ]);
  const read = await dataOf(() => resend.inboxes.threads.emails.get({ inboxId, threadId, emailId }));
  expect(read).toMatchObject(emails[0] ?? {});

  const reply = {
    ...{ inboxId, threadId, emailId, text: 'On its way.', replyAll: true },
    ...{ cc: 'ben@example.net', bcc: ['boss@example.net'], headers: { 'X-Case': '7' } },
    attachments: [{ filename: 'b.txt', content: Buffer.from('there') }],
  };
  const replied = () => resend.inboxes.threads.emails.reply(reply, { idempotencyKey: 'reply-1' });
  const { id } = await dataOf(replied);
  expect(await dataOf(replied)).toEqual({ id });
  await ses.waitForRequests('SendEmail', 1, 30_000);
  expect(ses.messages).toMatchObject([
    {
      destination: {
        ...{ ToAddresses: ['ann@example.net'], CcAddresses: ['ben@example.net'] },
        BccAddresses: ['boss@example.net'],
      },
      mail: {
        ...{ from: { address: emailAddress }, subject: 'Re: My order', inReplyTo: '<1@example.net>' },
        headers: expect.arrayContaining([expect.objectContaining({ key: 'x-case', value: '7' })]),
        attachments: [{ filename: 'b.txt' }],
      },
    },
  ]);
  const { data: both } = await dataOf(() => resend.inboxes.threads.emails.list({ inboxId, threadId }));
  expect(both.map(({ direction }) => direction).sort()).toEqual(['inbound', 'outbound']);
}, 60_000);

test('what there is not yet is a 404: of inboxes their update, agent, drafts and labels, and the rest of threads', async () => {
  await verifiedDomain('shop.example');
  const { id: inboxId } = await dataOf(() => resend.inboxes.create({ emailAddress: 'support@shop.example' }));
  const message = { from: 'ann@example.net', to: 'support@shop.example', subject: 'Hi', text: 'Hello' };
  await sendMail(await inbound.smtpPort(), message);
  const { data: threads } = await dataOf(() => resend.inboxes.threads.list({ inboxId }));
  const thread = { inboxId, threadId: threads[0]?.id ?? '' };
  const { data: emails } = await dataOf(() => resend.inboxes.threads.emails.list(thread));
  const emailId = emails[0]?.id ?? '';
  const { inboxes } = resend;
  const draft = { inboxId, draftId: '1' };
  const label = { inboxId, labelId: '1' };
  const absent: Record<string, () => Promise<Answered<unknown>>> = {
    'inboxes.update': () => inboxes.update(inboxId, { name: 'Help' }),
    'agent.get': () => inboxes.agent.get({ inboxId }),
    'agent.update': () => inboxes.agent.update({ inboxId, tone: 'concise_casual' }),
    'drafts.list': () => inboxes.drafts.list({ inboxId }),
    'drafts.create': () =>
      inboxes.drafts.create({ inboxId, to: 'ann@example.net', subject: 'Hi', text: 'Hi' }),
    'drafts.get': () => inboxes.drafts.get(draft),
    'drafts.update': () => inboxes.drafts.update({ ...draft, subject: 'Ho' }),
    'drafts.remove': () => inboxes.drafts.remove(draft),
    'drafts.send': () => inboxes.drafts.send(draft),
    'labels.list': () => inboxes.labels.list({ inboxId }),
    'labels.create': () => inboxes.labels.create({ inboxId, name: 'Urgent' }),
    'labels.update': () => inboxes.labels.update({ ...label, name: 'Late' }),
    'labels.remove': () => inboxes.labels.remove(label),
    'threads.search': () => inboxes.threads.search({ inboxId, query: 'Hi' }),
    'threads.remove': () => inboxes.threads.remove(thread),
    'threads.labels.add': () => inboxes.threads.labels.add({ ...thread, labels: ['1'] }),
    'threads.labels.set': () => inboxes.threads.labels.set({ ...thread, labels: ['1'] }),
    'threads.labels.remove': () => inboxes.threads.labels.remove({ ...thread, labelId: '1' }),
    'threads.emails.forward': () =>
      inboxes.threads.emails.forward({ ...thread, emailId, to: 'ben@example.net', text: 'See below' }),
  };
  const answers: Record<string, unknown> = {};
  for (const [name, call] of Object.entries(absent)) answers[name] = (await counted(call)).error;
  const missing = expect.objectContaining({ status: 404, type: expect.stringMatching(/\/not-found$/) });
  expect(answers).toEqual(Object.fromEntries(Object.keys(absent).map((name) => [name, missing])));
  const { data: left } = await dataOf(() => inboxes.threads.list({ inboxId }));
  expect(left.map(({ id }) => id)).toEqual([thread.threadId]); // and nothing was done
}, 60_000);

test('a failure is read as one, with the problem document for an error', async () => {
  const unverified = await counted(() => resend.emails.send(MESSAGE));
  expect(unverified.data).toBeNull();
  expect(unverified.error).toMatchObject({
    type: expect.stringMatching(/\/domain-not-verified$/),
    status: 403,
    detail: expect.stringContaining('shop.example'),
    instance: unverified.headers?.['x-request-id'],
    // The SDK's own type of an error has these three.
    name: 'domain_not_verified',
    message: expect.stringContaining('shop.example'),
    statusCode: 403,
  });
  const invalid = await counted(() => resend.emails.send({ ...MESSAGE, to: 'nobody' }));
  expect(invalid.error).toMatchObject({ status: 422, errors: [{ field: 'to' }] });
  const missing = await counted(() => resend.emails.get('em_01jd0000000000000000000001'));
  expect(missing.error).toMatchObject({ status: 404 });
  const stranger = new Resend('pr_live_unknown', { baseUrl: resend['baseUrl'] });
  expect((await stranger.emails.list()).error).toMatchObject({ status: 401 });
}, 60_000);
