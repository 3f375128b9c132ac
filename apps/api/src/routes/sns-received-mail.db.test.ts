import { beforeEach, expect, test } from '@jest/globals';
import { adminDatabaseUrl, fetchMetrics, sesReceived, startFaultProxy, waitFor } from '@postrider/testing';
import type { SnsFields } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { MAIL_BUCKET, setupSns } from '../../test/sns.ts';
import { setupApi, startApi } from '../../test/start-api.ts';
import type { TestApi } from '../../test/start-api.ts';

const MARK = 'mark-of-a-message';
const recipients = ['support+1@in.example'];
const object = { bucket: MAIL_BUCKET, key: `mail/${MARK}` };

const sns = setupSns();
const api = setupApi(() => ({ sns: sns.access }));

beforeEach(() => api.rows.clear());

const post = (fields: SnsFields, to: TestApi = api) =>
  request(to.url).post('/internal/ses/sns').set('content-type', 'text/plain').send(JSON.stringify(fields));

async function expectTaken(fields: SnsFields): Promise<void> {
  const answer = await post(fields);
  expect({ status: answer.status, body: answer.body as unknown }).toEqual({
    status: 200,
    body: { received: true },
  });
}

const rows = () =>
  api.database.query<Record<string, unknown>>(
    `select notification_id, provider_message_id, source, recipients, verdicts, content, bucket, key, claim,
            due_at <= now() as due from ses_mail order by notification_id`,
  );

async function counted(result: string): Promise<number> {
  const page = await fetchMetrics(api.port);
  return page.find(`postrider_provider_notifications_total{result="${result}"}`) ?? 0;
}

const lastLine = () => {
  const lines = api.log().split('\n');
  const line = lines.findLast((each) => each.includes('"provider notification"')) ?? '{}';
  return JSON.parse(line) as unknown;
};

test('mail in an allowed bucket makes one row, which is due', async () => {
  const verdicts = { spamVerdict: 'FAIL', dmarcVerdict: 'FAIL', dmarcPolicy: 'reject' };
  const before = await counted('received');
  await expectTaken(
    sns.notification(sesReceived({ recipients, object, verdicts, source: '<>', messageId: 'ses-1' }), {
      MessageId: 'sns-1',
    }),
  );
  const pass = { status: 'PASS' };
  const fail = { status: 'FAIL' };
  expect(await rows()).toEqual([
    {
      notification_id: 'sns-1',
      provider_message_id: 'ses-1',
      source: '',
      recipients,
      claim: 0,
      due: true,
      content: null,
      bucket: MAIL_BUCKET,
      key: object.key,
      verdicts: {
        spamVerdict: fail,
        virusVerdict: pass,
        spfVerdict: pass,
        dkimVerdict: pass,
        dmarcVerdict: fail,
        dmarcPolicy: 'reject',
      },
    },
  ]);
  expect(await counted('received')).toBe(before + 1);
  expect(lastLine()).toMatchObject({
    level: 'info',
    result: 'received',
    message_id: 'sns-1',
    ses_message_id: 'ses-1',
  });
  expect(api.log()).not.toContain(MARK);
});

test('150 KB of mail in the notification itself are kept unchanged, in either encoding', async () => {
  const head = Buffer.from('Subject: Hi\r\n\r\n');
  const bytes = Buffer.concat([head, Buffer.alloc(150 * 1024 - head.length, 'ü"\\\r\n')]);
  for (const encoding of ['base64', 'utf8'] as const) {
    const content = bytes.toString(encoding);
    await expectTaken(sns.notification(sesReceived({ recipients, content }), { MessageId: encoding }));
  }
  expect(await rows()).toMatchObject([{ content: bytes }, { content: bytes }]);
});

test('a repeated notification stores nothing twice, also at once', async () => {
  const notification = sns.notification(sesReceived({ recipients, object }));
  const before = await counted('repeated');
  await Promise.all(Array.from({ length: 5 }, () => expectTaken(notification)));
  expect(await rows()).toHaveLength(1);
  await api.database.query('delete from ses_mail');
  await expectTaken(notification);
  expect(await rows()).toEqual([]);
  expect(await counted('repeated')).toBe(before + 5);
});

test('mail in a bucket that is not allowed gets 200, is counted and logged, and not stored', async () => {
  const before = await counted('bucket_refused');
  const foreign = { bucket: `${MAIL_BUCKET}-2`, key: object.key };
  await expectTaken(sns.notification(sesReceived({ recipients, object: foreign, messageId: 'ses-2' })));
  expect(await rows()).toEqual([]);
  expect(await counted('bucket_refused')).toBe(before + 1);
  expect(lastLine()).toMatchObject({
    level: 'warn',
    result: 'bucket_refused',
    ses_message_id: 'ses-2',
    reason: 'the bucket is not one of INBOUND_S3_BUCKETS',
  });
});

test('received mail without content or without recipients is ignored', async () => {
  await expectTaken(sns.notification(sesReceived({ recipients })));
  await expectTaken(sns.notification(sesReceived({ recipients: [], object })));
  expect(await rows()).toEqual([]);
  expect(lastLine()).toMatchObject({ result: 'ignored', level: 'info' });
});

test('while Postgres is away the answer is 503, and the next try stores the mail', async () => {
  const proxy = await startFaultProxy(adminDatabaseUrl());
  const away = await startApi({ sns: sns.access, through: (url) => proxy.url(url) });
  try {
    proxy.takeAway();
    const notification = sns.notification(sesReceived({ recipients, object }));
    expectProblem(await post(notification, away), 'not-ready');
    proxy.restore();
    await waitFor(async () => (await post(notification, away)).status === 200, { what: 'it to be taken' });
    expect(await away.database.query('select bucket, key from ses_mail')).toEqual([object]);
  } finally {
    await proxy.close();
    await away.stop();
  }
});
