import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { LIMITS } from '@postrider/domain';
import type { EmailId } from '@postrider/domain';
import { fetchedCertificates } from '@postrider/notifications';
import { systemClock } from '@postrider/runtime';
import { createMailWork, openDatabase } from '@postrider/store';
import {
  adminDatabaseUrl,
  createSnsSigner,
  expectedSesEvents,
  sesSampleText,
  snsSamples,
  startFaultProxy,
} from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupSns } from '../../test/sns.ts';
import { setupApi, startApi } from '../../test/start-api.ts';
import type { Caller, TestApi } from '../../test/start-api.ts';

const MARK = 'mark-of-a-message';
const MESSAGE = { from: 'Shop <shop@a.example>', to: 'jane@example.net', subject: 'Hi', text: 'Hi' };
const SAMPLE_ID = /em_01JD0000000000000000000001/g;
const SAMPLES = Object.entries(expectedSesEvents());

const sns = setupSns();
const api = setupApi(() => ({ sns: sns.access }));
let caller: Caller;
let emailId: string;

beforeEach(async () => {
  await api.rows.clear();
  sns.answerWith({ kind: 'answered', statusCode: 200, body: Buffer.from('<Confirmed/>') });
  caller = await api.newCaller();
  emailId = await send(caller);
});

async function send({ authorization }: Caller): Promise<string> {
  const sent = await request(api.url).post('/v1/emails').set('authorization', authorization).send(MESSAGE);
  return (sent.body as { id: string }).id;
}

/** Posts like SNS: JSON with the Content-Type of plain text. */
function post(body: unknown, to: TestApi = api) {
  return request(to.url)
    .post('/internal/ses/sns')
    .set('content-type', 'text/plain; charset=UTF-8')
    .set('x-amz-sns-message-type', 'Notification')
    .send(typeof body === 'string' ? body : JSON.stringify(body));
}

/** A sample that names the message of the test. */
function sample(name: string): string {
  return sesSampleText(name).replaceAll(SAMPLE_ID, emailId);
}

const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 60 * 60_000).toISOString();

async function expectTaken(body: unknown): Promise<void> {
  const answer = await post(body);
  expect({ status: answer.status, body: answer.body as unknown }).toEqual({
    status: 200,
    body: { received: true },
  });
}

async function expectRefused(body: unknown, to: TestApi = api): Promise<void> {
  const detail = expectProblem(await post(body, to), 'validation-failed', 400);
  expect(detail).toBe('The body is not a message that SNS has signed for a topic that is taken here.');
}

async function events(): Promise<{ type: string; data: unknown }[]> {
  const rows = await api.database.query<{ type: string; data: string }>('select type, data from events');
  return rows.map(({ type, data }) => ({ type, data: JSON.parse(data) as unknown }));
}

const suppressions = () =>
  api.database.query('select account_id, address, origin, email_id from suppressions');
const takenIds = () => api.database.query('select message_id from provider_notifications');

async function lastEvent(): Promise<unknown> {
  const path = `/v1/emails/${emailId}`;
  const answer = await request(api.url).get(path).set('authorization', caller.authorization);
  return (answer.body as Record<string, unknown>)['last_event'];
}

async function counted(result: string, by: TestApi = api): Promise<number> {
  const { text } = await request(by.url).get('/metrics');
  const line = `postrider_provider_notifications_total{result="${result}",service="api"} `;
  return Number(
    text
      .split('\n')
      .find((each) => each.startsWith(line))
      ?.slice(line.length) ?? 0,
  );
}

/** The log lines of the notification. */
function lines(by: TestApi = api): Record<string, unknown>[] {
  return by
    .log()
    .split('\n')
    .filter((line) => line.includes('"provider notification"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test.each(SAMPLES)('%s makes the event it should, once, for the right message', async (name, expected) => {
  await expectTaken(sns.notification(sample(name)));
  const data = JSON.parse(
    JSON.stringify(expected?.data ?? null)
      .replaceAll(SAMPLE_ID, emailId)
      .replace('"from":"<stored>"', `"from":"${MESSAGE.from}"`)
      .replace('"subject":"<stored>"', `"subject":"${MESSAGE.subject}"`),
  ) as unknown;
  expect(await events()).toEqual(expected === null ? [] : [{ type: expected.type, data }]);
  expect(await lastEvent()).toBe(expected === null ? 'queued' : expected.type.replace('email.', ''));
  const origin = { 'email.bounced': 'bounce', 'email.complained': 'complaint' }[expected?.type ?? ''];
  const { recipients = [] } = (expected?.data ?? {}) as { recipients?: string[] };
  expect(await suppressions()).toEqual(
    origin === undefined
      ? []
      : [{ account_id: caller.accountId, address: recipients[0], origin, email_id: emailId }],
  );
});

test('signature version 1 (SHA-1) is refused, unless it is allowed', async () => {
  const access = { ...sns.access, trust: { ...sns.access.trust, allowSha1: true } };
  const allowing = await startApi({ sns: access });
  const signed = sns.notification('of no kind that makes an event', {}, '1');
  const refused = await counted('bad_signature');
  await expectRefused(signed);
  expect(await counted('bad_signature')).toBe(refused + 1);
  expect((await post(signed, allowing)).status).toBe(200);
  await allowing.stop();
});

test('the samples cover every event of a notification', () => {
  const types = SAMPLES.map(([, expected]) => expected?.type).filter((type) => type !== undefined);
  expect(new Set(types).size).toBe(9);
});

test('a repeated notification changes nothing, also at once and after another', async () => {
  const bounce = sns.notification(sample('05-bounce-permanent-general'));
  const recorded = await counted('recorded');
  const repeated = await counted('repeated');
  await Promise.all(Array.from({ length: 5 }, () => expectTaken(bounce)));
  await expectTaken(sns.notification(sample('16-click')));
  await expectTaken(bounce);
  expect((await events()).map(({ type }) => type).sort()).toEqual(['email.bounced', 'email.clicked']);
  expect(await lastEvent()).toBe('bounced');
  expect([await counted('recorded'), await counted('repeated')]).toEqual([recorded + 2, repeated + 5]);
});

test('a message is found by the provider’s id when the tag names none of ours', async () => {
  const { mail } = JSON.parse(sesSampleText('15-open')) as { mail: { messageId: string } };
  await api.database.query('update emails set provider_message_id = $1', [mail.messageId]);
  await expectTaken(sns.notification(sesSampleText('15-open')));
  expect(await events()).toMatchObject([{ type: 'email.opened', data: { email_id: emailId } }]);
});

test('a message without a tag is found by its Message-ID when the provider’s answer was lost', async () => {
  const { eventType, mail, ...rest } = JSON.parse(sample('05-bounce-permanent-general')) as {
    eventType: string;
    mail: { tags?: object };
  };
  delete mail.tags; // as the notifications of an identity have it
  await expectTaken(sns.notification({ ...rest, notificationType: eventType, mail }));
  expect(await events()).toMatchObject([{ type: 'email.bounced', data: { email_id: emailId } }]);
});

test('a notification for unknown mail gets 200, and changes nothing until its mail is known', async () => {
  const unknown = sns.notification(sesSampleText('05-bounce-permanent-general'), { MessageId: 'unknown-1' });
  await expectTaken(unknown);
  expect([await events(), await suppressions()]).toEqual([[], []]);
  expect(await takenIds()).toEqual([]);
  expect(lines().at(-1)).toMatchObject({ result: 'unknown_mail', message_id: 'unknown-1', level: 'info' });
});

test('one that arrives before the answer of SES is committed makes its event with that commit', async () => {
  const { eventType, mail, ...rest } = JSON.parse(sesSampleText('05-bounce-permanent-general')) as {
    eventType: string;
    mail: { messageId: string; tags?: object };
  };
  delete mail.tags; // as the notifications of an identity have it
  const bounce = sns.notification({ ...rest, notificationType: eventType, mail });
  await expectTaken(bounce);
  expect(await events()).toEqual([]);
  await acceptedAs(mail.messageId);
  await expectTaken(bounce);
  expect((await events()).map(({ type }) => type).sort()).toEqual(['email.bounced', 'email.sent']);
  expect(await lastEvent()).toBe('bounced');
  expect(await suppressions()).toMatchObject([{ address: 'jane@example.net', email_id: emailId }]);
});

/** Marks the message as sent, as a worker does. */
async function acceptedAs(providerMessageId: string): Promise<void> {
  const connection = { databaseUrl: api.database.url, applicationName: 'worker', onError: () => undefined };
  const db = openDatabase(
    { ...connection, size: 1 },
    { send: () => undefined, close: async () => undefined },
  );
  try {
    const work = createMailWork(db, systemClock, { verifiedDomainsOnly: false });
    const [taking] = await work.take([{ emailId: emailId as EmailId, claim: 0 }], 30);
    const email = await taking;
    if (!email) throw new Error('the message was not taken');
    const outcome = {
      status: 'sent',
      providerMessageId,
      notifications: [],
      error: null,
      next: null,
    } as const;
    expect(await work.recordAlone(email, outcome)).not.toBeNull();
  } finally {
    await db.close();
  }
}

test('mail of a test key makes no event and suppresses no address', async () => {
  emailId = await send(await api.newCaller({ accountId: caller.accountId, kind: 'test' }));
  await expectTaken(sns.notification(sample('05-bounce-permanent-general')));
  expect([await events(), await suppressions(), await lastEvent()]).toEqual([[], [], 'stored']);
});

describe('an authentic message that is not understood gets 200, and changes nothing', () => {
  test.each([
    ['plain text', 'Successfully validated SNS topic for Amazon SES event publishing.'],
    ['nothing', ' '],
    ['JSON that is no object', '[1]'],
    ['an object of another kind', { hello: MARK }],
    ['a type to come', { eventType: 'Levitation', mail: { messageId: 'p', destination: ['a@a.example'] } }],
    ['a notification that names no message', { eventType: 'Open', mail: { destination: ['a@a.example'] } }],
  ])('%s', async (_, message) => {
    await expectTaken(sns.notification(message));
    expect([await events(), await takenIds()]).toEqual([[], []]);
    expect(lines().at(-1)).toMatchObject({ result: 'ignored', level: 'info' });
  });

  test('the notice that SES sends when a topic is set up', async () => {
    await expectTaken(sns.signNow(snsSamples().plainText));
  });
});

describe('refused with the same 400, and nothing stored', () => {
  const bounce = () => sns.notification(sample('05-bounce-permanent-general'));
  afterAll(async () => {
    const results = ['bad_envelope', 'unknown_topic', 'bad_signature', 'untrusted_certificate', 'too_old'];
    for (const result of results) {
      expect(await counted(result)).toBeGreaterThan(0);
    }
  });
  test.each<[string, () => unknown]>([
    ['no body', () => ''],
    ['no JSON', () => '{"Type":'],
    ['no envelope', () => ({ hello: MARK })],
    ['a notification of SES without its envelope', () => sample('05-bounce-permanent-general')],
    ['an unsigned one', () => snsSamples().notification],
    ['a changed message', () => ({ ...bounce(), Message: sample('10-complaint-abuse') })],
    ['another id', () => ({ ...bounce(), MessageId: 'another' })],
    ['another topic', () => sns.notification('x', { TopicArn: 'arn:aws:sns:us-east-1:123456789012:other' })],
    ['another host', () => sns.notification('x', { SigningCertURL: 'https://sns.evil.example/a.pem' })],
    [
      'a host that begins like SNS',
      () =>
        sns.notification('x', {
          SigningCertURL: `https://sns.us-east-1.amazonaws.com.evil.example/SimpleNotificationService-${'0'.repeat(32)}.pem`,
        }),
    ],
    [
      'another path',
      () => sns.notification('x', { SigningCertURL: 'https://sns.us-east-1.amazonaws.com/evil.pem' }),
    ],
    ['a version to come', () => ({ ...bounce(), SignatureVersion: '3' })],
    ['a copy that somebody has kept for eight days', () => sns.notification('x', { Timestamp: daysAgo(8) })],
  ])('%s', async (_, body) => {
    await expectRefused(body());
    expect([await events(), await suppressions(), await takenIds()]).toEqual([[], [], []]);
    expect(lines().at(-1)).toMatchObject({ level: 'warn', request_id: expect.stringMatching(/^req_/) });
    expect(sns.asked).toEqual([]);
  });

  test('a signature by another key', async () => {
    const other = await createSnsSigner();
    await expectRefused(other.sign(snsSamples().notification));
  });

  test('every message, when no topic is allowed', async () => {
    const closed = await startApi({
      sns: { ...sns.access, trust: { ...sns.access.trust, topics: new Set() } },
    });
    try {
      await expectRefused(bounce(), closed);
    } finally {
      await closed.stop();
    }
  });
});

describe('a body', () => {
  test('of 512 KiB is read, of one byte more refused', async () => {
    const fitting = JSON.stringify(sns.notification('x')).padEnd(LIMITS.snsBodyBytes, ' ');
    await expectTaken(fitting);
    expect(expectProblem(await post(`${fitting} `), 'request-too-large')).toContain('524288 bytes');
  });

  test('that is compressed is refused', async () => {
    const answer = await post(sns.notification('x')).set('content-encoding', 'gzip');
    expectProblem(answer, 'validation-failed', 400);
  });
});

test('while the certificate cannot be fetched the answer is 503; the same body, six days old, then makes its event', async () => {
  let answers = 0;
  const get: typeof sns.access.get = async () => {
    answers += 1;
    return { kind: 'failed', error: 'connect ECONNREFUSED' };
  };
  const trust = { ...sns.access.trust, certificates: fetchedCertificates({ get }) };
  const blind = await startApi({ sns: { ...sns.access, get, trust } });
  try {
    const bounce = sns.notification(sample('05-bounce-permanent-general'), { Timestamp: daysAgo(6) });
    expect(expectProblem(await post(bounce, blind), 'not-ready')).toContain('Send it again later');
    expect(answers).toBe(1);
    expect(blind.log()).toContain('signing certificate: connect ECONNREFUSED');
    await expectTaken(bounce);
    expect(await events()).toMatchObject([{ type: 'email.bounced', data: { email_id: emailId } }]);
  } finally {
    await blind.stop();
  }
});

test('while Postgres is away the answer is 503, which is counted and logged like every result', async () => {
  const proxy = await startFaultProxy(adminDatabaseUrl());
  const away = await startApi({ sns: sns.access, through: (url) => proxy.url(url) });
  try {
    proxy.takeAway();
    const bounce = sns.notification(sample('05-bounce-permanent-general'));
    expectProblem(await post(bounce, away), 'not-ready');
    expect(await counted('unavailable', away)).toBe(1);
    expect(lines(away)).toMatchObject([
      { level: 'warn', result: 'unavailable', topic: bounce['TopicArn'], message_id: bounce['MessageId'] },
    ]);
  } finally {
    await proxy.close();
    await away.stop();
  }
});

describe('a subscription', () => {
  test('is confirmed at SNS, at the signed address', async () => {
    const before = sns.asked.length;
    const confirmation = sns.confirmation();
    await expectTaken(confirmation);
    expect(sns.asked.slice(before)).toEqual([confirmation['SubscribeURL']]);
    expect(lines().at(-1)).toMatchObject({ result: 'confirmed' });
  });

  test.each([
    'https://127.0.0.1/?Action=ConfirmSubscription&Token=1',
    'https://169.254.169.254/latest/meta-data/',
    'https://sns.us-east-1.amazonaws.com.evil.example/?Action=ConfirmSubscription&Token=1',
  ])('that would lead to %s is refused, and nobody is asked', async (SubscribeURL) => {
    const before = sns.asked.length;
    await expectRefused(sns.confirmation({ SubscribeURL }));
    expect(sns.asked).toHaveLength(before);
    expect(lines().at(-1)).toMatchObject({ result: 'confirmation_refused' });
  });

  test('that SNS cannot confirm now gets 503, so that SNS sends it again', async () => {
    sns.answerWith({ kind: 'failed', error: 'timeout after 5000 ms' });
    expectProblem(await post(sns.confirmation()), 'not-ready');
  });

  test('that has ended is logged as a warning, and never renewed', async () => {
    const before = sns.asked.length;
    await expectTaken(sns.confirmation({ Type: 'UnsubscribeConfirmation' }));
    expect(sns.asked).toHaveLength(before);
    expect(lines().at(-1)).toMatchObject({ result: 'unsubscribed', level: 'warn' });
  });
});

test('the log names each notification and its result, and no content', async () => {
  await expectTaken(sns.notification({ ...(JSON.parse(sample('16-click')) as object), more: MARK }));
  expect(lines().at(-1)).toEqual({
    time: expect.any(String),
    level: 'info',
    msg: 'provider notification',
    service: 'api',
    result: 'recorded',
    type: 'email.clicked',
    topic: snsSamples().notification['TopicArn'],
    message_id: expect.any(String),
    request_id: expect.stringMatching(/^req_/),
  });
  for (const word of [MARK, 'jane@example.net', 'shop.example.com']) expect(api.log()).not.toContain(word);
});
