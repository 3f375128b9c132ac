import { beforeEach, expect, test } from '@jest/globals';
import request from 'supertest';
import { everythingStored } from '../../test/everything-stored.ts';
import { expectPlainText, expectProblem, textOf } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';
import { problemsPage } from '../docs/problems-page.ts';

const WEBHOOK = { endpoint: 'https://hooks.example.com/in' };
const MAX = 10;

const api = setupApi({ webhooksPerAccountMax: MAX });
let caller: Caller;

beforeEach(async () => void (caller = await api.newCaller()));

const post = (body: unknown = WEBHOOK, by = caller) =>
  request(api.url).post('/v1/webhooks').set('authorization', by.authorization).send(JSON.stringify(body));

async function fill(): Promise<string> {
  let last = '';
  for (let n = 0; n < MAX; n += 1) {
    const response = await post();
    expect(response.status).toBe(201);
    last = (response.body as { id: string }).id;
  }
  return last;
}

test('fifty creations at once get 201 up to the limit, and 422 beyond it', async () => {
  // Charges of one key wait for each other. Each creation has its own key, so that they run at once.
  const keys: Caller[] = [];
  while (keys.length < 50) keys.push(await api.newCaller({ accountId: caller.accountId }));
  const answers = await Promise.all(keys.map(async (key) => post(WEBHOOK, key)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(MAX);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expectProblem(answer, 'validation-failed');
  }
  const listed = await request(api.url).get('/v1/webhooks').set('authorization', caller.authorization);
  expect((listed.body as { data: unknown[] }).data).toHaveLength(MAX);
});

test('one more is 422 with a detail that says so, and stores nothing; other accounts are not affected', async () => {
  await fill();
  const before = await everythingStored(api.database);
  const response = await post();
  expect(expectProblem(response, 'validation-failed')).toBe(
    `The account has as many webhooks as it may have: ${MAX}.`,
  );
  expect(textOf(response)).not.toContain('"errors"');
  expect(await everythingStored(api.database)).toEqual(before);
  expect((await post(WEBHOOK, await api.newCaller())).status).toBe(201);
});

test('after a webhook is deleted the account may have another at once, as docs/problems.md says', async () => {
  expect(problemsPage()).toContain('"The account has as many webhooks as it may have", once one is deleted.');
  const id = await fill();
  const removal = request(api.url).delete(`/v1/webhooks/${id}`);
  expect((await removal.set('authorization', caller.authorization)).status).toBe(200);
  expect((await post()).status).toBe(201);
  expectProblem(await post(), 'validation-failed');
});

test('an account’s own limit replaces the default', async () => {
  await api.database.query('update accounts set webhooks_max = 1 where id = $1', [caller.accountId]);
  expect((await post()).status).toBe(201);
  expect(expectProblem(await post(), 'validation-failed')).toBe(
    'The account has as many webhooks as it may have: 1.',
  );
});

test('the limit is checked last: a request with another fault is refused for that fault', async () => {
  await fill();
  expectPlainText(await post({}), 422);
  const wrong = await post({ endpoint: 'http://a.example' });
  expect(expectProblem(wrong, 'validation-failed')).toBe(
    'endpoint "http://a.example" is not an https:// URL.',
  );
  const scopeless = await api.newCaller({ accountId: caller.accountId, scopes: [] });
  expectProblem(await post(WEBHOOK, scopeless), 'api-key-forbidden');
});
