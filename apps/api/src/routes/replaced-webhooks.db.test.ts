import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { SCOPES } from '@postrider/domain';
import type { EventId, WebhookId } from '@postrider/domain';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupApi, SHARED_DOMAIN } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

/* The requests of docs/guide.md and docs/inbound.md that replace a webhook or a rule without losing an event. */

/** @param heading with its number signs. @returns the part of the page below it */
function sectionOf(page: string, heading: string): string {
  const text = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), 'utf8');
  const [, rest = ''] = text.split(`\n${heading}\n`);
  return rest.split(/\n##/)[0] ?? '';
}

const GUIDE = sectionOf('guide.md', '## Replace a webhook');
const STATUSES = (/for STATUS in ([a-z ]+);/.exec(GUIDE)?.[1] ?? '').split(' ');
const [LEFT = '', MISSED = ''] = [...GUIDE.matchAll(/"\$API(\/v1\/[^"]+)"/g)].map(([, path = '']) => path);

interface Entry {
  readonly id: string;
  readonly created_at: string;
}
interface EventPage {
  readonly data: readonly Entry[];
  readonly has_more: boolean;
  readonly next_cursor: string;
}

const api = setupApi();
let caller: Caller;
beforeEach(async () => void (caller = await api.newCaller({ scopes: SCOPES })));

const ask = (method: 'get' | 'post' | 'delete', path: string, body?: object) =>
  request(api.url)[method](path).set('authorization', caller.authorization).send(body);

async function made(path: string, body: object): Promise<{ id: string; webhook: string }> {
  const answer = await ask('post', path, body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return answer.body as { id: string; webhook: string };
}

const newWebhook = async (events: readonly string[] = []) =>
  (await made('/v1/webhooks', { endpoint: 'https://hooks.example.com', events })).id;

/** A minute after the creation of a webhook, as the guide sets it. */
async function untilOf(webhook: string): Promise<string> {
  const { created_at: created } = (await ask('get', `/v1/webhooks/${webhook}`)).body as Entry;
  return new Date(Date.parse(created) + 60_000).toISOString();
}

/** A request of the guide, with its pages. @returns the ids of the events */
async function listed(path: string, values: Readonly<Record<string, string>>): Promise<string[]> {
  const filled = path.replaceAll(/\$([A-Z]+)/g, (_, name: string) => values[name] ?? '');
  const ids: string[] = [];
  let page: EventPage | undefined;
  do {
    const next = page && `${filled.replace(/since=[^&]*&/, '')}&after=${page.next_cursor}`;
    const answer = await ask('get', next ?? filled);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    page = answer.body as EventPage;
    ids.push(...page.data.map(({ id }) => id));
  } while (page.has_more);
  return ids;
}

/** What the first webhook has not delivered, by the three lists of the guide. */
async function left(webhook: string, until: string): Promise<string[]> {
  const lists = [];
  for (const status of STATUSES)
    lists.push(await listed(LEFT, { OLD: webhook, STATUS: status, UNTIL: until }));
  return lists.flat().sort();
}

async function newestEvent(): Promise<string> {
  const [event] = await api.database.query<{ id: string }>(
    'select id from events where account_id = $1 order by position desc limit 1',
    [caller.accountId],
  );
  return event?.id ?? '';
}

async function suppress(name: string): Promise<string> {
  await made('/v1/suppressions', { email: `${name}@shop.example` });
  return newestEvent();
}

/** Removes the delivery of the event, and its dead letter. */
async function clear(event: string, webhook: string): Promise<void> {
  for (const table of ['deliveries', 'dead_letters'])
    await api.database.query(`delete from ${table} where event_id = $1 and webhook_id = $2`, [
      event,
      webhook,
    ]);
}

/** Ends a delivery, with one logged attempt. */
async function end(event: string, webhook: string, status: number): Promise<void> {
  await clear(event, webhook);
  await api.database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer, type)
     values (now(), 1, $1, $2, 1, 12, $3::int, case when $3::int >= 300 then 'HTTP ' || $3 end, 'ok', 'email.unsubscribed')`,
    [event, webhook, status],
  );
}

describe('a webhook that another one replaces', () => {
  test('lists each event from before the second webhook until it is delivered', async () => {
    const old = await newWebhook();
    const [fresh, running, retried, dropped, dead, done] = [
      await suppress('fresh'),
      await suppress('running'),
      await suppress('retried'),
      await suppress('dropped'),
      await suppress('dead'),
      await suppress('done'),
    ];
    await api.database.query(
      `update deliveries set taken_at = now(), leased_until = now() + interval '1 hour' where event_id = $1`,
      [running],
    );
    await api.database.query(
      `update deliveries set attempts = 7, due_at = now() + interval '32 min' where event_id = $1`,
      [retried],
    );
    await end(dropped, old, 400);
    await clear(dead, old);
    await api.rows.deadLetter(old as WebhookId, dead as EventId);
    await end(done, old, 204);
    const until = await untilOf(await newWebhook());
    const later = await suppress('later');
    await api.database.query('update events set created_at = $2 where id = $1', [later, until]);
    expect(STATUSES).toHaveLength(3);
    const undelivered = [fresh, running, retried, dropped, dead];
    expect(await left(old, until)).toEqual(undelivered.sort());
    for (const event of undelivered) await end(event, old, 204);
    expect(await left(old, until)).toEqual([]);
  });

  test('only the first webhook can send earlier events; the API lists them', async () => {
    await newWebhook();
    const event = await suppress('between');
    const replacing = await newWebhook();
    const until = await untilOf(replacing);
    const since = new Date(Date.parse(until) - 3_600_000).toISOString();
    const replay = await ask('post', `/v1/webhooks/${replacing}/events/${event}/replay`);
    expectProblem(replay, 'not-found');
    const counted = await ask('post', `/v1/webhooks/${replacing}/recover`, {
      since,
      only: 'all',
      dry_run: true,
    });
    expect(counted.body).toMatchObject({ matched: 0 });
    expect(await listed(MISSED, { SINCE: since, UNTIL: until })).toEqual([event]);
  });
});

test.each([
  ['/v1/webhooks', { endpoint: 'https://hooks.example.com' }, 201],
  ['/v1/inbound/routes', { endpoint: 'https://hooks.example.com', match: `retry@${SHARED_DOMAIN}` }, 409],
])('a POST %s whose answer was lost is found in the list, without its secret', async (path, body, again) => {
  const lost = await made(path, body);
  expect((await ask('post', path, body)).status).toBe(again);
  const { data } = (await ask('get', path)).body as EventPage;
  const found = data.at(-1);
  expect(found).toMatchObject({ id: lost.id, created_at: expect.any(String) });
  expect(found).not.toHaveProperty('signing_secret');
  expect((await ask('delete', `${path}/${lost.id}`)).status).toBe(200);
  expect(await made(path, body)).toHaveProperty('signing_secret');
});

describe('a rule that another one replaces', () => {
  let rule: { readonly match: string; readonly endpoint: string };
  beforeEach(() => {
    // The address of a deleted rule stays with its account.
    const match = `${caller.accountId}@${SHARED_DOMAIN}`;
    rule = { match, endpoint: 'https://hooks.example.com/orders' };
  });

  /** @returns the id of the event. @throws Error when the address gets 550 */
  async function mail(): Promise<string> {
    await api.receive({ recipients: [rule.match], from: 'ann@shop.example', to: [rule.match] });
    return newestEvent();
  }

  /** The webhooks that have a delivery of the event. */
  async function getters(event: string): Promise<string[]> {
    const rows = await api.database.query<{ id: string }>(
      'select webhook_id as id from deliveries where event_id = $1',
      [event],
    );
    return rows.map(({ id }) => id).sort();
  }

  test('by the requests of docs/inbound.md loses no mail and no event', async () => {
    const written = sectionOf('inbound.md', '### Replace a rule');
    const steps = written.split('\n').filter((line) => /^\d\. /.test(line));
    expect(steps.join('\n').match(/(?<=`)[A-Z]+ \/v1\/[^`]+/g)).toEqual([
      'POST /v1/inboxes',
      'POST /v1/webhooks',
      'DELETE /v1/inbound/routes/{id}',
      'POST /v1/inbound/routes',
      'DELETE /v1/webhooks/{id}',
    ]);
    const old = await made('/v1/inbound/routes', rule);
    const first = await mail();
    await made('/v1/inboxes', { email_address: rule.match });
    const beside = await newWebhook(['message.received', 'message.held']);
    const second = await mail();
    expect(await getters(first)).toEqual([old.webhook]);
    expect(await getters(second)).toEqual([old.webhook, beside].sort());
    expect(await left(old.webhook, await untilOf(beside))).toEqual([first, second].sort());
    for (const event of [first, second]) await end(event, old.webhook, 204);
    expect(await left(old.webhook, await untilOf(beside))).toEqual([]);
    expect((await ask('delete', `/v1/inbound/routes/${old.id}`)).status).toBe(200);
    expect(await getters(await mail())).toEqual([beside]);
    const replacing = await made('/v1/inbound/routes', rule);
    expect(await getters(await mail())).toEqual([beside, replacing.webhook].sort());
  });

  test('a second rule is 409, and mail gets 550 between deletion and creation', async () => {
    const { id } = await made('/v1/inbound/routes', rule);
    expectProblem(await ask('post', '/v1/inbound/routes', rule), 'route-exists');
    await ask('delete', `/v1/inbound/routes/${id}`);
    await expect(mail()).rejects.toThrow('it went nowhere');
  });
});
