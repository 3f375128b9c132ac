import { beforeAll, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { everythingStored } from '../../test/everything-stored.ts';
import { KEYED_ROUTES, requestOf, titled } from '../../test/every-route.ts';
import { expectProblem, wholeAnswer } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const MESSAGE = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hello' };

const api = setupApi();
let live: Caller;
/** Keys of one account with every scope. An earlier version could make such test keys. */
let tester: Caller;
let liveMail: string;
let testMail: string;

beforeAll(async () => {
  live = await api.newCaller({ scopes: SCOPES });
  tester = await api.newCaller({ accountId: live.accountId, kind: 'test', scopes: SCOPES });
  liveMail = await sentBy(live);
  testMail = await sentBy(tester);
});

async function sentBy(caller: Caller): Promise<string> {
  const response = await request(api.url)
    .post('/v1/emails')
    .set('authorization', caller.authorization)
    .send(MESSAGE);
  expect(response.status).toBe(200);
  return (response.body as { id: string }).id;
}

const read = (path: string, by: Caller) =>
  request(api.url).get(`/v1/emails${path}`).set('authorization', by.authorization);

async function listedTo(by: Caller): Promise<string[]> {
  const response = await read('', by);
  expect(response.status).toBe(200);
  return (response.body as { data: { id: string }[] }).data.map(({ id }) => id);
}

describe('a test key', () => {
  test('lists the mail of all test keys of the account, and no live mail', async () => {
    const second = await api.newCaller({ accountId: live.accountId, kind: 'test' });
    expect(await listedTo(tester)).toEqual([testMail]);
    expect(await listedTo(second)).toEqual([testMail]);
  });

  test('gets the same answer for live mail as for mail that does not exist', async () => {
    expect((await read(`/${testMail}`, tester)).status).toBe(200);
    const foreign = await read(`/${liveMail}`, tester);
    expectProblem(foreign, 'not-found');
    expect(wholeAnswer(foreign)).toBe(wholeAnswer(await read(`/${newId('email', systemClock)}`, tester)));
  });

  test.each(['after', 'before'])(
    'cannot page %s live mail: it stands in no list of the key',
    async (side) => {
      const response = await read(`?${side}=${liveMail}`, tester);
      expect(expectProblem(response, 'validation-failed')).toBe(
        `${side} "${liveMail}" is not the id of an entry of this list.`,
      );
    },
  );
});

test('a live key sees all mail of its account, also that of test keys', async () => {
  expect(await listedTo(live)).toEqual([testMail, liveMail]);
  expect((await read(`/${testMail}`, live)).status).toBe(200);
});

/** A test key may use the routes of sent and of received mail only. */
const NOT_OF_MAIL = KEYED_ROUTES.filter(({ contract }) => contract.ofMail !== true);

describe.each(titled(NOT_OF_MAIL))('%s', (_, route) => {
  test('refuses a test key, also one that has the scope, and changes nothing', async () => {
    const before = await everythingStored(api.database);
    const response = await requestOf(api.url, route).set('authorization', tester.authorization);
    expect(expectProblem(response, 'api-key-forbidden')).toBe(
      'The API key is a test key, and the route is for live keys.',
    );
    expect(await everythingStored(api.database)).toEqual(before);
  });
});
