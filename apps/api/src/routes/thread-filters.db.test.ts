import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { SHARED_DOMAIN, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const ADDRESS = `agent@${SHARED_DOMAIN}`;

const api = setupApi();
let caller: Caller;
let inbox: string;

beforeEach(async () => {
  await api.database.query('delete from inboxes');
  caller = await api.newCaller({ scopes: SCOPES });
  const made = await request(api.url)
    .post('/v1/inboxes')
    .set('authorization', caller.authorization)
    .send({ email_address: ADDRESS });
  inbox = (made.body as { id: string }).id;
});

const list = (query: string) =>
  request(api.url).get(`/v1/inboxes/${inbox}/threads${query}`).set('authorization', caller.authorization);

async function idsOf(query: string): Promise<string[]> {
  const response = await list(query);
  expect(response.status).toBe(200);
  return (response.body as { data: { id: string }[] }).data.map(({ id }) => id);
}

/** Makes two mail threads with one message each. @returns their ids, newest first */
async function twoThreads(): Promise<[string, string]> {
  for (const from of ['ann@a.example', 'bob@b.example'])
    await api.receive({ recipients: [ADDRESS], from, to: [ADDRESS] });
  const [newest = '', oldest = ''] = await idsOf('');
  return [newest, oldest];
}

describe('a list of mail threads', () => {
  test('has the mail threads that are read, those that are not, or both', async () => {
    const [newest, oldest] = await twoThreads();
    await request(api.url)
      .patch(`/v1/inboxes/${inbox}/threads/${oldest}`)
      .set('authorization', caller.authorization)
      .send({ read: true });
    expect(await idsOf('?read=true')).toEqual([oldest]);
    expect(await idsOf('?read=false')).toEqual([newest]);
    expect(await idsOf('')).toEqual([newest, oldest]);
  });

  test('has all mail threads for the folder inbox, and none for another folder or a label, on every page', async () => {
    const [newest, oldest] = await twoThreads();
    const all = ['?folders=inbox', '?folders=inbox&folders=spam', '?folders=spam,inbox', '?folders=&labels='];
    for (const query of all) {
      expect(await idsOf(query)).toEqual([newest, oldest]);
      expect(await idsOf(`${query}&after=${newest}`)).toEqual([oldest]);
    }
    for (const query of ['?folders=archive,spam', '?labels=x', '?folders=inbox&labels=x,y']) {
      for (const page of ['', `&after=${newest}`, `&before=${oldest}`])
        expect(await idsOf(`${query}${page}`)).toEqual([]);
      const unknown = await list(`${query}&after=${newId('thread', systemClock)}`);
      expectProblem(unknown, 'validation-failed');
    }
  });
});
