import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { Resend } from 'resend';
import { testReceivedMail } from './resend-inbound.ts';
import { sdkMethods } from './resend-methods.ts';
import { ABSENT } from './resend-page.ts';
import { answerOf, dataOf, MESSAGE, setupResend } from './resend-setup.ts';

/* Resend's own SDK sends mail, and manages what sending needs. docs/resend.md names its methods that work. */

const sdk = setupResend();

// These tests use the same processes.
testReceivedMail(sdk);

test('the SDK creates, lists, reads, verifies, updates and removes domains', async () => {
  const created = await dataOf(() => sdk.resend.domains.create({ name: 'shop.example' }));
  expect(created).toMatchObject({ name: 'shop.example', status: 'pending', records: expect.any(Array) });
  expect((await dataOf(() => sdk.resend.domains.list())).data).toMatchObject([{ id: created.id }]);
  expect(await dataOf(() => sdk.resend.domains.get(created.id))).toMatchObject({ name: 'shop.example' });
  expect(await dataOf(() => sdk.resend.domains.verify(created.id))).toEqual({
    object: 'domain',
    id: created.id,
  });
  const confirmed = { id: created.id, openTracking: false, tls: 'opportunistic' } as const;
  expect(await dataOf(() => sdk.resend.domains.update(confirmed))).toEqual({
    object: 'domain',
    id: created.id,
  });
  const tracked = await answerOf(() => sdk.resend.domains.update({ id: created.id, openTracking: true }));
  expect(tracked.error).toMatchObject({ status: 422 });
  expect(await dataOf(() => sdk.resend.domains.remove(created.id))).toMatchObject({ deleted: true });
  expect((await dataOf(() => sdk.resend.domains.list())).data).toEqual([]);
});

test('the SDK sends, reads and lists emails, sends a batch, and sends one email for an idempotency key', async () => {
  await sdk.verifiedDomain('shop.example');
  const sent = await dataOf(() =>
    sdk.resend.emails.send({
      ...MESSAGE,
      replyTo: 'help@shop.example',
      tags: [{ name: 'kind', value: 'order' }],
      attachments: [{ filename: 'a.txt', content: Buffer.from('hello') }],
    }),
  );
  const read = await dataOf(() => sdk.resend.emails.get(sent.id));
  expect(read).toMatchObject({
    object: 'email',
    id: sent.id,
    from: MESSAGE.from,
    to: MESSAGE.to,
    html: MESSAGE.html,
  });
  const batch = await dataOf(() => sdk.resend.batch.send([MESSAGE, { ...MESSAGE, subject: 'Another' }]));
  expect(batch.data).toHaveLength(2);
  const ids = [sent.id, ...batch.data.map(({ id }) => id)];
  const page = await dataOf(() => sdk.resend.emails.list({ limit: 2 }));
  expect(page).toMatchObject({ object: 'list', has_more: true });
  expect(page.data.map(({ id }) => id).sort()).toEqual(ids.slice(1).sort());

  const first = await dataOf(() => sdk.resend.emails.send(MESSAGE, { idempotencyKey: 'order-1' }));
  expect(await dataOf(() => sdk.resend.emails.send(MESSAGE, { idempotencyKey: 'order-1' }))).toEqual(first);
  const other = await answerOf(() =>
    sdk.resend.emails.send({ ...MESSAGE, subject: 'No' }, { idempotencyKey: 'order-1' }),
  );
  expect(other.error).toMatchObject({ status: 409, title: 'Idempotency key in conflict' });

  await waitFor(() => sdk.ses.messages.length === 4, { what: 'the provider to get all four' });
  await waitFor(
    async () => typeof (await dataOf(() => sdk.resend.emails.get(sent.id))).message_id === 'string',
    {
      what: 'its id at the provider to be shown',
    },
  );
  expect(sdk.ses.messages.map(({ mail }) => mail.subject).sort()).toEqual([
    'Another',
    'Your order',
    'Your order',
    'Your order',
  ]);
});

test('every field of an email that the SDK sends reaches the provider', async () => {
  await sdk.verifiedDomain('shop.example');
  const topic = await dataOf(() => sdk.resend.topics.create({ name: 'News', defaultSubscription: 'opt_in' }));
  const logo = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]);
  const whole = await dataOf(() =>
    sdk.resend.emails.send({
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
  const news = await dataOf(() => sdk.resend.emails.send({ ...MESSAGE, subject: 'News', topicId: topic.id }));
  const [message, aboutTopic] = await sdk.messagesAtProvider(['Grüße', 'News']);

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
  expect(await dataOf(() => sdk.resend.emails.get(news.id))).toMatchObject({ topic_id: topic.id });
});

test('the SDK sends one batch for an idempotency key, and lists its emails in pages, forwards and back', async () => {
  await sdk.verifiedDomain('shop.example');
  const subjects = ['One', 'Two', 'Three', 'Four', 'Five'];
  const batch = subjects.map((subject) => ({ ...MESSAGE, subject }));
  const sent = await dataOf(() => sdk.resend.batch.send(batch, { idempotencyKey: 'batch-1' }));
  expect(sent.data).toHaveLength(5);
  expect(await dataOf(() => sdk.resend.batch.send(batch, { idempotencyKey: 'batch-1' }))).toEqual(sent);
  const other = await answerOf(() => sdk.resend.batch.send(batch.slice(1), { idempotencyKey: 'batch-1' }));
  expect(other.error).toMatchObject({ status: 409, title: 'Idempotency key in conflict' });
  await sdk.messagesAtProvider(subjects);

  const [five = '', four = '', three = '', two = '', one = ''] = sent.data.map(({ id }) => id).reverse();
  const page = async (options: Parameters<typeof sdk.resend.emails.list>[0]) => {
    const { data, has_more } = await dataOf(() => sdk.resend.emails.list(options));
    return [data.map(({ id }) => id), has_more];
  };
  expect(await page({ limit: 2 })).toEqual([[five, four], true]);
  expect(await page({ limit: 2, after: four })).toEqual([[three, two], true]);
  expect(await page({ limit: 2, after: two })).toEqual([[one], false]);
  expect(await page({ limit: 2, before: two })).toEqual([[four, three], true]);
  expect(await page({ limit: 2, before: three })).toEqual([[five, four], false]);
});

test('the SDK adds, lists, reads and removes suppressions, also many at once', async () => {
  const { id } = await dataOf(() => sdk.resend.suppressions.add({ email: 'Ann@example.net' }));
  expect((await dataOf(() => sdk.resend.suppressions.list({ origin: 'manual' }))).data).toMatchObject([
    { id, email: 'ann@example.net', origin: 'manual' },
  ]);
  expect(await dataOf(() => sdk.resend.suppressions.get('ann@example.net'))).toMatchObject({ id });
  expect(await dataOf(() => sdk.resend.suppressions.remove(id))).toMatchObject({ deleted: true });
  const emails = ['b@example.net', 'c@example.net'];
  const added = await dataOf(() => sdk.resend.suppressions.batch.add({ emails }));
  expect(added.data).toHaveLength(2);
  expect((await dataOf(() => sdk.resend.suppressions.batch.remove({ emails }))).data).toHaveLength(2);
  expect((await dataOf(() => sdk.resend.suppressions.list())).data).toEqual([]);
});

test('the SDK creates, lists, reads, updates and removes topics', async () => {
  const topic = { name: 'News', description: 'Once a week', defaultSubscription: 'opt_in' } as const;
  const { id } = await dataOf(() => sdk.resend.topics.create(topic));
  expect((await dataOf(() => sdk.resend.topics.list())).data).toMatchObject([{ id, name: 'News' }]);
  expect(await dataOf(() => sdk.resend.topics.get(id))).toMatchObject({ id, description: 'Once a week' });
  expect(await dataOf(() => sdk.resend.topics.update({ id, name: 'Offers' }))).toMatchObject({ id });
  expect(await dataOf(() => sdk.resend.topics.get(id))).toMatchObject({
    name: 'Offers',
    description: 'Once a week',
  });
  expect(await dataOf(() => sdk.resend.topics.remove(id))).toMatchObject({ deleted: true });
  expect((await answerOf(() => sdk.resend.topics.get(id))).error).toMatchObject({
    status: 404,
    title: 'Not found',
  });
});

test('the SDK reads how much of the sent mail was sent and delivered', async () => {
  await sdk.verifiedDomain('shop.example');
  const { id } = await dataOf(() => sdk.resend.emails.send(MESSAGE));
  await sdk.messagesAtProvider([MESSAGE.subject]);
  const metrics = await waitFor(
    async () => {
      const answer = await dataOf(() =>
        sdk.resend.emails.metrics({
          metrics: ['sent', 'delivery_rate'],
          dimensions: ['email'],
          emailId: [id],
        }),
      );
      return answer.totals.sent === 1 && answer;
    },
    { what: 'the event of the message to be counted' },
  );
  expect(metrics).toMatchObject({
    object: 'metrics',
    metrics: ['sent', 'delivery_rate'],
    dimensions: ['email'],
    totals: { sent: 1, delivery_rate: 0 },
    data: [{ email_id: id, sent: 1, delivery_rate: 0 }],
  });
});

test('the SDK lists and reads the attachments of sent mail', async () => {
  await sdk.verifiedDomain('shop.example');
  const { id: emailId } = await dataOf(() =>
    sdk.resend.emails.send({
      ...MESSAGE,
      attachments: [{ filename: 'a.txt', content: Buffer.from('hello') }],
    }),
  );
  const { data } = await dataOf(() => sdk.resend.emails.attachments.list({ emailId }));
  expect(data).toMatchObject([{ filename: 'a.txt', size: 5, content_type: 'text/plain' }]);
  const id = data[0]?.id ?? '';
  const file = await dataOf(() => sdk.resend.emails.attachments.get({ emailId, id }));
  expect(file).toMatchObject({ object: 'attachment', id, content_disposition: 'attachment' });
  expect(await (await fetch(file.download_url)).text()).toBe('hello');
});

test('the SDK returns a failure as an error that is the problem document', async () => {
  const unverified = await answerOf(() => sdk.resend.emails.send(MESSAGE));
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
  const invalid = await answerOf(() => sdk.resend.emails.send({ ...MESSAGE, to: 'nobody' }));
  expect(invalid.error).toMatchObject({ status: 422, errors: [{ field: 'to' }] });
  const missing = await answerOf(() => sdk.resend.emails.get('em_01jd0000000000000000000001'));
  expect(missing.error).toMatchObject({ status: 404 });
  const stranger = new Resend('pr_live_unknown', { baseUrl: sdk.resend['baseUrl'] });
  expect((await stranger.emails.list()).error).toMatchObject({ status: 401 });
});

/** The names of the methods in the two tables of docs/resend.md. */
async function documented(): Promise<{ works: string[]; refused: string[] }> {
  const page = await readFile(new URL('../docs/resend.md', import.meta.url), 'utf8');
  const [, works = '', refused = ''] = page.split('\n## ');
  const names = (table: string) => [...table.matchAll(/^\| `([\w.]+)`/gm)].map(([, name = '']) => name);
  return { works: names(works), refused: names(refused) };
}

test('docs/resend.md lists every method of the SDK once, and no reason for a refusal is unused', async () => {
  const { works, refused } = await documented();
  const names = (await sdkMethods()).map(({ name }) => name);
  expect([...works, ...refused].sort()).toEqual([...names].sort());
  expect(names.length).toBeGreaterThan(130);
  const unused = Object.keys(ABSENT).filter(
    (start) => !refused.some((name) => `${name}.`.startsWith(`${start}.`)),
  );
  expect(unused).toEqual([]);
});

test('the API has an HTTP route for each method that works, and answers the others with the 404 of no route', async () => {
  const { refused } = await documented();
  const unserved: string[] = [];
  const failures: unknown[] = [];
  for (const { name, call } of await sdkMethods()) {
    if (name === 'webhooks.verify') continue; // it makes no request
    const { error } = (await call(sdk.resend)) as { error: { statusCode: number; detail?: string } | null };
    // The API refuses placeholders, or nothing has such an id.
    if (error !== null && ![400, 404, 422].includes(error.statusCode)) failures.push([name, error]);
    if (error?.detail === 'There is no such route.') {
      expect(error.statusCode).toBe(404);
      unserved.push(name);
    }
  }
  expect(unserved).toEqual(refused);
  expect(failures).toEqual([]);
});
