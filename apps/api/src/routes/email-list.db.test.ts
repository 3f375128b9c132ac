import { beforeAll, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectProblem, textOf, withoutInstance } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const api = setupApi();
let caller: Caller;

beforeAll(async () => void (caller = await api.newCaller()));

function list(query: string, by = caller) {
  return request(api.url).get(`/v1/emails${query}`).set('authorization', by.authorization);
}

async function sent(subject: string): Promise<string> {
  const response = await request(api.url).post('/v1/emails').set('authorization', caller.authorization).send({
    from: 'a@a.example',
    to: 'b@b.example',
    bcc: 'c@c.example',
    subject,
    text: 'Hi',
    html: '<p>Hi</p>',
  });
  return (response.body as { id: string }).id;
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

test('answers the account’s messages in the shape of Resend’s list, page by page, without their bodies', async () => {
  const ids = [await sent('1'), await sent('2'), await sent('3')].reverse();
  const entries = ids.map((id, index) => ({
    id,
    from: 'a@a.example',
    to: ['b@b.example'],
    cc: [],
    bcc: ['c@c.example'],
    reply_to: [],
    subject: String(3 - index),
    created_at: TIME,
    scheduled_at: null,
    message_id: null,
    last_event: 'queued',
    topic_id: null,
  }));
  const whole = await list('');
  expect(whole.status).toBe(200);
  expect(whole.body).toEqual({ object: 'list', has_more: false, data: entries });
  const first = await list('?limit=1');
  expect(first.body).toEqual({ object: 'list', has_more: true, data: entries.slice(0, 1) });
  const second = await list(`?limit=2&after=${ids[0]}`);
  expect(second.body).toEqual({ object: 'list', has_more: false, data: entries.slice(1) });
  const back = await list(`?limit=1&before=${ids[2]}`);
  expect(back.body).toEqual({ object: 'list', has_more: true, data: entries.slice(1, 2) });
});

test('an account without mail has an empty list', async () => {
  const response = await list('', await api.newCaller());
  expect(response.body).toEqual({ object: 'list', has_more: false, data: [] });
});

test('a malformed limit is 422, without a list of faults', async () => {
  const response = await list('?limit=101');
  expect(expectProblem(response, 'validation-failed')).toBe(
    'limit "101" is not a whole number from 1 to 100.',
  );
  expect(JSON.parse(textOf(response))).not.toHaveProperty('errors');
});

test('a malformed cursor, an unknown one and another account’s get the same refusal', async () => {
  const id = await sent('mine');
  const stranger = await api.newCaller();
  const cursors = [id, newId('email', systemClock), 'x'];
  const responses = await Promise.all(cursors.map((cursor) => list(`?after=${cursor}`, stranger)));
  for (const response of responses) expectProblem(response, 'validation-failed');
  const words = responses.map((response, index) =>
    withoutInstance(response).replaceAll(cursors[index] ?? '', '…'),
  );
  expect(new Set(words).size).toBe(1);
});
