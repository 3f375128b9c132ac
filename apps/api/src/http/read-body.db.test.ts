import { beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { expectPlainText, expectProblem, textOf } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const WEBHOOK = JSON.stringify({ endpoint: 'https://hooks.example.com' });
const MESSAGE = JSON.stringify({ from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hi' });

const api = setupApi();
let caller: Caller;

beforeAll(async () => void (caller = await api.newCaller()));

function post(path: string, body: string) {
  return request(api.url)
    .post(path)
    .set('authorization', caller.authorization)
    .set('content-type', 'application/json')
    .serialize((text: string) => text)
    .send(body);
}

async function stored(): Promise<number> {
  const rows = await api.database.query('select id from webhooks union all select id from emails');
  return rows.length;
}

describe('after the JSON document', () => {
  test.each(['x', '}', '{}', ',', '\0', '/* */'])('%j is refused, and nothing is stored', async (rest) => {
    const before = await stored();
    expectPlainText(await post('/v1/webhooks', WEBHOOK + rest), 400);
    expectProblem(await post('/v1/emails', MESSAGE + rest), 'validation-failed');
    expect(await stored()).toBe(before);
  });

  test('white space may follow', async () => {
    expect((await post('/v1/webhooks', `${WEBHOOK}\r\n\t `)).status).toBe(201);
  });
});

test('a body with a Content-Encoding is refused, even when it is plain JSON', async () => {
  const webhook = await post('/v1/webhooks', WEBHOOK).set('content-encoding', 'gzip');
  expectPlainText(webhook, 400);
  expect(textOf(webhook)).toContain('Content-Encoding');
  const message = await post('/v1/emails', MESSAGE).set('content-encoding', 'br');
  expect(expectProblem(message, 'validation-failed')).toContain('Content-Encoding');
});
