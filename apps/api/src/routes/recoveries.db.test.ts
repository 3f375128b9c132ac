import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { createRows, untilWaitingForLock } from '@postrider/testing';
import request from 'supertest';
import { expectProblem, wholeAnswer } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const api = setupApi();
const SINCE = '2026-01-01T00:00:00Z';
let caller: Caller;
let webhook: string;

beforeEach(async () => {
  caller = await api.newCaller({ scopes: ['webhooks:manage'] });
  webhook = await createRows(api.database).webhook({ accountId: caller.accountId });
  await api.database.query(`update webhooks set created_at = '2001-01-01' where id = $1`, [webhook]);
});

/** An event of a minute ago whose delivery was dropped. */
async function droppedEvent(): Promise<string> {
  const id = await createRows(api.database).event({ accountId: caller.accountId });
  await api.database.query(`update events set created_at = now() - interval '1 minute' where id = $1`, [id]);
  return id;
}

const ask = (method: 'get' | 'delete', path: string, by = caller) =>
  request(api.url)[method](`/v1/webhooks/${path}`).set('authorization', by.authorization);
const recover = (body: object = { since: SINCE }, id = webhook, by = caller) =>
  request(api.url).post(`/v1/webhooks/${id}/recover`).set('authorization', by.authorization).send(body);

async function started(): Promise<string> {
  const response = await recover();
  expect(response.status).toBe(202);
  return (response.body as { id: string }).id;
}

describe('POST …/recover', () => {
  test('counts, and starts a recovery of what it counted', async () => {
    await droppedEvent();
    const response = await recover({ since: SINCE, types: ['email.sent'], rate: 9 });
    expect(response.status).toBe(202);
    expect(response.body).toEqual({
      object: 'recovery',
      id: expect.stringMatching(/^rec_/),
      dry_run: false,
      webhook,
      since: '2026-01-01T00:00:00.000Z',
      until: expect.any(String),
      types: ['email.sent'],
      only: 'undelivered',
      rate: 9,
      ...{ matched: 1, dead_letters: 0, has_more: false, unknown: 0 },
      oldest: expect.any(String),
      newest: (response.body as { oldest: string }).oldest,
      counted_at: (response.body as { until: string }).until,
    });
    const { id } = response.body as { id: string };
    expect((await ask('get', `${webhook}/recoveries/${id}`)).body).toMatchObject({
      id,
      matched: 1,
      rate: 9,
      left: 1,
    });
  });

  test('a dry run answers the same without an id, and starts nothing', async () => {
    await droppedEvent();
    const response = await recover({ since: SINCE, dry_run: true });
    expect(response.status).toBe(202);
    expect(response.body).toMatchObject({ id: null, dry_run: true, matched: 1, rate: 200 });
    expect((await ask('get', `${webhook}/recoveries`)).body).toEqual({
      object: 'list',
      has_more: false,
      data: [],
    });
    expect(await api.database.query('select from deliveries where webhook_id = $1', [webhook])).toEqual([]);
  });

  test('a second one is refused while the first runs, and names it', async () => {
    const id = await started();
    const response = await recover();
    expectProblem(response, 'validation-failed');
    expect((response.body as { detail: string }).detail).toBe(`The webhook has a recovery that runs: ${id}.`);
    await ask('delete', `${webhook}/recoveries/${id}`);
    await started();
  });

  test('another number of events than expected starts nothing', async () => {
    await droppedEvent();
    const response = await recover({ since: SINCE, expected: 2 });
    expectProblem(response, 'validation-failed');
    expect((response.body as { detail: string }).detail).toBe('expected is 2, and 1 events match.');
    expect((await recover({ since: SINCE, expected: 1 })).status).toBe(202);
  });

  test('a count while another one of the account runs is 503 not-ready', async () => {
    await api.database.query('begin');
    await api.database.query('lock table events in access exclusive mode');
    const first = recover({ since: SINCE, dry_run: true }).then((answer) => answer.status);
    await untilWaitingForLock(api.database);
    expectProblem(await recover({ since: SINCE, dry_run: true }), 'not-ready');
    await api.database.query('commit');
    expect(await first).toBe(202);
    expect((await recover({ since: SINCE, dry_run: true })).status).toBe(202);
  });

  const INVALID: [object, RegExp][] = [
    [{ since: 'yesterday' }, /^since "yesterday" is not a time such as 2026-11-20T10:00:00Z\.$/],
    [{ since: SINCE, until: SINCE }, /^until "2026-01-01T00:00:00Z" is not after since\.$/],
    [{ since: SINCE, types: ['email.lost'] }, /^types\[0\] "email.lost" is not a known event type\.$/],
    [{ since: SINCE, only: 'failed' }, /^only "failed" is not one of undelivered, all\.$/],
    [{ since: SINCE, rate: 0 }, /^rate 0 is less than 1\.$/],
    [{ since: SINCE, rate: 2_001 }, /^rate 2001 is more than 2000\.$/],
    [{ since: SINCE, rate: 1.5 }, /^rate 1.5 is not a whole number\.$/],
    [{ since: SINCE, dry_run: 'yes' }, /^dry_run "yes" is not a boolean\.$/],
    [{ since: SINCE, dryrun: true }, /^"dryrun" is not a field of this route; the nearest one is dry_run\.$/],
  ];
  test.each(INVALID)('%j is refused', async (body, detail) => {
    const response = await recover(body);
    expectProblem(response, 'validation-failed');
    expect((response.body as { detail: string }).detail).toMatch(detail);
  });

  test('without since it is plain text', async () => {
    const response = await recover({});
    expect([response.status, response.type, response.text]).toEqual([
      422,
      'text/plain',
      'The request body lacks the required field since.',
    ]);
  });
});

test('a recovery is listed, read and stopped', async () => {
  await droppedEvent();
  const id = await started();
  const read = await ask('get', `${webhook}/recoveries/${id}`);
  expect(read.status).toBe(200);
  expect(read.body).toMatchObject({
    object: 'recovery',
    id,
    status: 'running',
    matched: 1,
    queued: 0,
    ended_at: null,
  });
  expect((await ask('get', `${webhook}/recoveries?limit=1`)).body).toEqual({
    object: 'list',
    has_more: false,
    data: [read.body],
  });
  const stopped = await ask('delete', `${webhook}/recoveries/${id}`);
  expect(stopped.status).toBe(200);
  expect(stopped.body).toMatchObject({ id, status: 'stopped', left: 1, ended_at: expect.any(String) });
  expect((await ask('delete', `${webhook}/recoveries/${id}`)).body).toEqual(stopped.body);
});

test('the list refuses an unknown parameter, and an after that is no recovery of the webhook', async () => {
  expectProblem(await ask('get', `${webhook}/recoveries?before=rec_1`), 'validation-failed');
  expectProblem(await ask('get', `${webhook}/recoveries?after=rec_1`), 'validation-failed');
  const missing = newId('recovery', systemClock);
  expectProblem(await ask('get', `${webhook}/recoveries?after=${missing}`), 'validation-failed');
});

test('another account’s webhook and recovery read as missing ones', async () => {
  const id = await started();
  const other = await api.newCaller({ scopes: ['webhooks:manage'] });
  const [none, missing] = [newId('webhook', systemClock), newId('recovery', systemClock)];
  for (const answers of [
    [await recover({ since: SINCE }, webhook, other), await recover({ since: SINCE }, none)],
    [await ask('get', `${webhook}/recoveries`, other), await ask('get', `${none}/recoveries`)],
    [
      await ask('get', `${webhook}/recoveries/${id}`, other),
      await ask('get', `${webhook}/recoveries/${missing}`),
    ],
    [
      await ask('delete', `${webhook}/recoveries/${id}`, other),
      await ask('delete', `${none}/recoveries/${id}`),
    ],
  ] as const) {
    expectProblem(answers[0], 'not-found');
    expect(wholeAnswer(answers[0])).toEqual(wholeAnswer(answers[1]));
  }
  expect((await ask('get', `${webhook}/recoveries/${id}`)).body).toMatchObject({ status: 'running' });
});

test('a recovery of another webhook reads as a missing one, under a webhook of one’s own', async () => {
  const id = await started();
  const missing = newId('recovery', systemClock);
  const rows = createRows(api.database);
  const other = await api.newCaller({ scopes: ['webhooks:manage'] });
  for (const by of [caller, other]) {
    const own = await rows.webhook({ accountId: by.accountId });
    for (const method of ['get', 'delete'] as const) {
      const answer = await ask(method, `${own}/recoveries/${id}`, by);
      expectProblem(answer, 'not-found');
      expect(wholeAnswer(answer)).toEqual(wholeAnswer(await ask(method, `${own}/recoveries/${missing}`, by)));
    }
    expectProblem(await ask('get', `${own}/recoveries?after=${id}`, by), 'validation-failed');
  }
  expect((await ask('get', `${webhook}/recoveries/${id}`)).body).toMatchObject({ status: 'running' });
});
