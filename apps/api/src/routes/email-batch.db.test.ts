import { describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { errorsOf, expectProblem } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const MESSAGE = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hi' };
const MIB = 1024 * 1024;

const api = setupApi();

function send(by: Caller, body: unknown) {
  return request(api.url)
    .post('/v1/emails/batch')
    .set('authorization', by.authorization)
    .set('content-type', 'application/json')
    .send(typeof body === 'string' ? body : JSON.stringify(body));
}

const batchOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...MESSAGE, subject: `${index}` }));

async function stored({ accountId }: Caller): Promise<string[]> {
  const rows = await api.database.query<{ id: string }>(
    `select e.id from emails e join email_sends s on s.email_id = e.id
     where account_id = $1 order by subject::int`,
    [accountId],
  );
  return rows.map(({ id }) => id);
}

/** The used part of the key's window. */
async function used({ keyId }: Caller): Promise<number> {
  const [row] = await api.database.query<{ used: number }>(
    'select used from rate_limits where key = $1 and ends_at > now()',
    [keyId],
  );
  return row?.used ?? 0;
}

test('answers 200 with the ids in the order of the messages; all are stored and in the outbox', async () => {
  const caller = await api.newCaller();
  const response = await send(caller, batchOf(100));
  expect(response.status).toBe(200);
  expect(response.body).toEqual({ data: (await stored(caller)).map((id) => ({ id })) });
  expect(await stored(caller)).toHaveLength(100);
  expect(await used(caller)).toBe(100);
});

test('a batch of a test key is stored and not sent', async () => {
  const tester = await api.newCaller({ kind: 'test' });
  expect((await send(tester, batchOf(2))).status).toBe(200);
  expect(await stored(tester)).toEqual([]);
  const rows = await api.database.query('select status from emails where account_id = $1', [
    tester.accountId,
  ]);
  expect(rows).toEqual([{ status: 'stored' }, { status: 'stored' }]);
});

test('one fault refuses the whole batch; the answer lists every fault under its path, also unknown topics', async () => {
  const caller = await api.newCaller();
  const batch: object[] = batchOf(8);
  batch[2] = { ...MESSAGE, topic_id: newId('topic', systemClock) };
  batch[7] = { ...MESSAGE, to: 'x', attachments: [{ filename: 'a', content: 'x' }] };
  const response = await send(caller, batch);
  expect(expectProblem(response, 'validation-failed')).toBe(
    '[7].to is not a valid email address (and 2 more, see errors).',
  );
  expect(errorsOf(response)).toEqual([
    { field: '[7].to', message: 'is not a valid email address' },
    { field: '[7].attachments[0].content', message: 'is not valid base64' },
    { field: '[2].topic_id', message: 'is not a topic of this account' },
  ]);
  expect(await stored(caller)).toEqual([]);
  expect(await used(caller)).toBe(8);
});

describe('what it costs', () => {
  test.each([
    { what: 'no JSON', body: '[{]', cost: 1 },
    { what: 'no JSON, with 101 entries', body: `[${'{},'.repeat(100)}{]`, cost: 1 },
    { what: 'no array', body: MESSAGE, cost: 1 },
    { what: 'an empty array', body: [], cost: 1 },
    { what: '101 messages', body: batchOf(101), cost: 0 },
    { what: 'one message with an array of 101', body: [batchOf(101)], cost: 1 },
    { what: 'faults in the fields', body: [{}, {}, {}], cost: 3 },
  ])('$what: 422, for $cost', async ({ body, cost }) => {
    const caller = await api.newCaller();
    expectProblem(await send(caller, body), 'validation-failed');
    expect(await used(caller)).toBe(cost);
    expect(await stored(caller)).toEqual([]);
  });

  test('101 messages over 64 KiB are refused unparsed, for nothing', async () => {
    const caller = await api.newCaller();
    const response = await send(caller, `[${'[0,0],'.repeat(100)} no JSON${' '.repeat(64 * 1024)}]`);
    expect(expectProblem(response, 'validation-failed')).toBe('The body has more than 100 messages.');
    expect(await used(caller)).toBe(0);
  });

  test('a body over 32 MiB: 413 with a problem document, for 1', async () => {
    const caller = await api.newCaller();
    expectProblem(await send(caller, `[${' '.repeat(32 * MIB)}]`), 'request-too-large');
    expect(await used(caller)).toBe(1);
  });

  test('a key without the scope: 403, for 1', async () => {
    const reader = await api.newCaller({ scopes: ['emails:read'] });
    expectProblem(await send(reader, batchOf(3)), 'api-key-forbidden');
    expect(await used(reader)).toBe(1);
  });
});

describe('a window', () => {
  test('with less left than the batch has messages refuses all and is not charged', async () => {
    const caller = await api.newCaller({ rateLimitPerMinute: 10 });
    expect((await send(caller, batchOf(8))).status).toBe(200);
    expect(expectProblem(await send(caller, batchOf(3)), 'rate-limited')).toBe(
      "The request costs 3, which does not fit in what is left of the key's limit of 10 per minute.",
    );
    expect((await send(caller, batchOf(2))).status).toBe(200);
    expect(await stored(caller)).toHaveLength(10);
  });

  test('that is unused accepts a batch over the whole limit, and no batch after it', async () => {
    const caller = await api.newCaller({ rateLimitPerMinute: 10 });
    expect((await send(caller, batchOf(100))).status).toBe(200);
    expectProblem(await send(caller, batchOf(1)), 'rate-limited');
  });

  test('that is used up refuses a batch before its body is read', async () => {
    const caller = await api.newCaller({ rateLimitPerMinute: 1 });
    expect((await send(caller, batchOf(1))).status).toBe(200);
    for (const body of ['{', MESSAGE, batchOf(101), `[${' '.repeat(32 * MIB)}]`]) {
      expect(expectProblem(await send(caller, body), 'rate-limited')).toBe(
        "The request costs 1 or more, which does not fit in what is left of the key's limit of 1 per minute.",
      );
    }
  });
});

test('32 MiB of attachments in one batch are stored byte for byte', async () => {
  const caller = await api.newCaller();
  const content = Buffer.alloc(3 * 256 * 1024, 'bytes of a file').toString('base64'); // 1 MiB of text
  const batch = batchOf(31).map((message, index) => ({
    ...message,
    attachments: [{ filename: `${index}.bin`, content }],
  }));
  expect((await send(caller, batch)).status).toBe(200);
  const rows = await api.database.query<{ count: number; bytes: number; different: number }>(
    `select count(*)::int, sum(length(a.content))::int as bytes, count(distinct md5(a.content))::int as different
     from email_attachments a join emails e on e.id = a.email_id where e.account_id = $1`,
    [caller.accountId],
  );
  expect(rows).toEqual([{ count: 31, bytes: 31 * 3 * 256 * 1024, different: 1 }]);
});
