import { beforeEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { errorsOf, expectProblem } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const MESSAGE = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hi' };

const api = setupApi();
let caller: Caller;

beforeEach(async () => void (caller = await api.newCaller()));

/** @param body a string is sent unchanged */
async function send(key: string, body: unknown = MESSAGE, path = '/v1/emails', by = caller) {
  return request(api.url)
    .post(path)
    .set('authorization', by.authorization)
    .set('content-type', 'application/json')
    .set('idempotency-key', key)
    .send(typeof body === 'string' ? body : JSON.stringify(body));
}

async function stored(accountId = caller.accountId): Promise<number> {
  return (await api.database.query('select 1 from emails where account_id = $1', [accountId])).length;
}

test('a repetition with the same meaning, in any notation, gets the first answer again', async () => {
  const first = await send('k');
  expect(first.status).toBe(200);
  const again = await send(
    'k',
    ' {"text":"Hi","subject":"\\u0048i","to":"b@b.example","from":"a@a.example"}',
  );
  expect(again.status).toBe(200);
  expect(again.body).toEqual(first.body);
  expect(await stored()).toBe(1);
});

test('a repetition of a batch gets the first answer again', async () => {
  const first = await send('k', [MESSAGE, MESSAGE], '/v1/emails/batch');
  expect(first.body).toEqual({ data: [{ id: expect.any(String) }, { id: expect.any(String) }] });
  expect((await send('k', [MESSAGE, MESSAGE], '/v1/emails/batch')).body).toEqual(first.body);
  expect(await stored()).toBe(2);
});

test('another request under the key is 409, also one that only omits a field', async () => {
  await send('k');
  for (const body of [
    { ...MESSAGE, subject: 'Ho' },
    { ...MESSAGE, cc: [] },
  ]) {
    const response = await send('k', body);
    expect(expectProblem(response, 'idempotency-conflict')).toBe(
      'This Idempotency-Key was used for another request in the last 24 hours.',
    );
  }
  expect(await stored()).toBe(1);
});

test('accounts, kinds of key and routes each have their own idempotency keys', async () => {
  const [stranger, tester] = [
    await api.newCaller(),
    await api.newCaller({ accountId: caller.accountId, kind: 'test' }),
  ];
  const answers = [
    await send('k'),
    await send('k', MESSAGE, '/v1/emails', stranger),
    await send('k', MESSAGE, '/v1/emails', tester),
    await send('k', [MESSAGE], '/v1/emails/batch'),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(4);
});

test('all keys of one account and kind share their idempotency keys', async () => {
  const first = await send('k');
  const second = await send('k', MESSAGE, '/v1/emails', await api.newCaller({ accountId: caller.accountId }));
  expect(second.body).toEqual(first.body);
});

describe('only a 200 is remembered', () => {
  test.each([
    ['a fault', { ...MESSAGE, to: 'x' }, 'validation-failed'],
    ['no JSON', '{', 'validation-failed'],
  ] as const)('after %s the key is free', async (_, body, slug) => {
    expectProblem(await send('k', body), slug);
    expect((await send('k')).status).toBe(200);
  });

  test('after a 429 the key is free', async () => {
    const [limited, other] = [
      await api.newCaller({ accountId: caller.accountId, rateLimitPerMinute: 1 }),
      await api.newCaller({ accountId: caller.accountId }),
    ];
    expect((await send('first', MESSAGE, '/v1/emails', limited)).status).toBe(200);
    expectProblem(await send('k', MESSAGE, '/v1/emails', limited), 'rate-limited');
    expect((await send('k', { ...MESSAGE, subject: 'other' }, '/v1/emails', other)).status).toBe(200);
  });
});

test('a repetition costs as much as the first request', async () => {
  const limited = await api.newCaller({ rateLimitPerMinute: 2 });
  const sendOne = async () => send('k', MESSAGE, '/v1/emails', limited);
  const answers = [await sendOne(), await sendOne(), await sendOne()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
});

test.each(['a', 'x'.repeat(256), 'with space, comma and \u00fc'])('%j is a key', async (key) => {
  const first = await send(key);
  expect(first.status).toBe(200);
  expect((await send(key)).body).toEqual(first.body);
});

test.each(['', 'x'.repeat(257)])('%j is none: 422, told with every other fault', async (key) => {
  const response = await send(key, { ...MESSAGE, to: 'x' });
  expectProblem(response, 'validation-failed');
  expect(errorsOf(response)).toEqual([
    { field: 'Idempotency-Key', message: 'must have 1 to 256 characters' },
    { field: 'to', message: 'is not a valid email address' },
  ]);
  expect(await stored()).toBe(0);
});

test('50 equal requests at once store one message; the others get its id or 409', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, async () => send('k')));
  expect(await stored()).toBe(1);
  const ok = answers.filter(({ status }) => status === 200);
  expect(ok.length).toBeGreaterThan(0);
  expect(new Set(ok.map(({ text }) => text)).size).toBe(1);
  for (const response of answers.filter(({ status }) => status !== 200)) {
    expect(expectProblem(response, 'idempotency-conflict')).toBe(
      'A request with this Idempotency-Key is being served just now.',
    );
  }
});
