import { beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const api = setupApi({ verifiedDomainsOnly: true, smtpUtf8: false });
let caller: Caller;

beforeAll(async () => {
  caller = await api.newCaller();
  await domain('mine.example', 'verified', caller);
  await domain('pending.example', 'pending', caller);
  await domain('foreign.example', 'verified', await api.newCaller());
});

async function domain(name: string, status: string, { accountId }: Caller): Promise<void> {
  await api.rows.domain(accountId, name, status);
}

const message = (from: string) => ({ from, to: 'b@b.example', subject: 'Hi', text: 'Hi' });

function post(path: string, body: object, by = caller) {
  return request(api.url).post(path).set('authorization', by.authorization).send(body);
}

async function stored(): Promise<number> {
  return (await api.database.query('select 1 from emails where account_id = $1', [caller.accountId])).length;
}

test.each(['a@mine.example', 'A <a@MINE.Example>'])(
  'live mail from %s, a verified domain, is taken',
  async (from) => {
    expect((await post('/v1/emails', message(from))).status).toBe(200);
  },
);

test.each(['a@pending.example', 'a@foreign.example', 'a@sub.mine.example', 'a@unknown.example'])(
  'live mail from %s is a 403, and nothing is stored',
  async (from) => {
    const before = await stored();
    const detail = expectProblem(await post('/v1/emails', message(from)), 'domain-not-verified');
    expect(detail).toBe(`The account has not verified the domain ${from.slice(2)}.`);
    expect(await stored()).toBe(before);
  },
);

test('a request with another fault is refused for that fault first', async () => {
  expectProblem(await post('/v1/emails', { ...message('a@unknown.example'), to: 'x' }), 'validation-failed');
});

test('one such message refuses its whole batch', async () => {
  const before = await stored();
  const batch = ['a@mine.example', 'a@unknown.example', 'b@pending.example'].map(message);
  const detail = expectProblem(await post('/v1/emails/batch', batch), 'domain-not-verified');
  expect(detail).toMatch(
    /^The account has not verified the domain (unknown|pending)\.example \(and 1 more\)\.$/,
  );
  expect(await stored()).toBe(before);
  expect((await post('/v1/emails/batch', batch.slice(0, 1))).status).toBe(200);
});

test('a test key may send from any domain', async () => {
  const tester = await api.newCaller({ accountId: caller.accountId, kind: 'test' });
  expect((await post('/v1/emails', message('a@unknown.example'), tester)).status).toBe(200);
});

test('the same request succeeds once the domain is verified, under the same idempotency key', async () => {
  const other = await api.newCaller();
  const send = async () => post('/v1/emails', message('a@late.example'), other).set('idempotency-key', 'k');
  expectProblem(await send(), 'domain-not-verified');
  await domain('late.example', 'verified', other);
  const first = await send();
  expect(first.status).toBe(200);
  await api.database.query(`update domains set status = 'failed' where name = 'late.example'`);
  expect((await send()).body).toEqual(first.body);
});

test('an address with letters beyond ASCII is refused where the provider cannot deliver to it, and nothing is stored', async () => {
  const before = await stored();
  const good = message('a@mine.example');
  const bad = { ...good, to: ['b@b.example', 'jürgen@b.example'], reply_to: 'ö@b.example' };
  const answers = [await post('/v1/emails', bad), await post('/v1/emails/batch', [good, bad])];
  const fields = answers.map((answer) => {
    expectProblem(answer, 'validation-failed');
    return (answer.body as { errors: { field: string }[] }).errors.map(({ field }) => field);
  });
  expect(fields).toEqual([
    ['to[1]', 'reply_to[0]'],
    ['[1].to[1]', '[1].reply_to[0]'],
  ]);
  expect(await stored()).toBe(before);
  expect((await post('/v1/emails', { ...good, to: 'b@bücher.example' })).status).toBe(200);
});
