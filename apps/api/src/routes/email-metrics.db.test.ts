import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectProblem, textOf } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const api = setupApi();
let caller: Caller;

beforeEach(async () => {
  for (const table of ['events', 'emails', 'domains']) await api.database.query(`delete from ${table}`);
  caller = await api.newCaller();
});

const ask = (query: string, by = caller) =>
  request(api.url).get(`/v1/emails/metrics${query}`).set('authorization', by.authorization);

interface Metrics {
  readonly totals: Readonly<Record<string, number>>;
  readonly data?: readonly Readonly<Record<string, unknown>>[];
}

async function metrics(query: string): Promise<Metrics> {
  const response = await ask(query);
  expect({ status: response.status, text: response.text }).toMatchObject({ status: 200 });
  return response.body as Metrics;
}

async function email(from = 'a@a.example', by = caller): Promise<string> {
  const response = await request(api.url)
    .post('/v1/emails')
    .set('authorization', by.authorization)
    .send({ from, to: 'b@b.example', subject: 'Hi', text: 'Hi' });
  return (response.body as { id: string }).id;
}

async function event(type: EventType, emailId: string | null, at = '2026-03-02T10:30:00Z', by = caller) {
  await api.database.query(
    `insert into events (id, account_id, type, created_at, data) values ($1, $2, $3, $4, $5)`,
    [newId('event', systemClock), by.accountId, type, at, JSON.stringify({ email_id: emailId })],
  );
}

const MARCH = '?start_date=2026-03-01&end_date=2026-03-05';

describe('GET /v1/emails/metrics', () => {
  test('counts the account’s events of the range, with rates, and shows what it counted', async () => {
    const [one, two] = [await email(), await email()];
    for (const id of [one, two]) await event('email.sent', id);
    await event('email.delivered', one);
    await event('email.bounced', two);
    await event('email.soft_bounced', one);
    for (let n = 0; n < 3; n += 1) await event('email.opened', one);
    await event('email.unsubscribed', null);
    await event('email.sent', one, '2026-02-28T23:59:59Z');
    await event('email.sent', one, '2026-03-05T00:00:00Z');
    await event('message.received', null);
    const stranger = await api.newCaller();
    await event('email.sent', await email('a@a.example', stranger), '2026-03-02T10:30:00Z', stranger);
    expect(await metrics(MARCH)).toEqual({
      object: 'metrics',
      start_date: '2026-03-01T00:00:00.000Z',
      end_date: '2026-03-05T00:00:00.000Z',
      metrics: expect.arrayContaining(['sent', 'delivery_rate']),
      dimensions: [],
      granularity: 'daily',
      totals: {
        sent: 2,
        delivered: 1,
        delivery_delayed: 0,
        bounced: 2,
        bounced_permanent: 1,
        bounced_transient: 1,
        complained: 0,
        failed: 0,
        opened: 3,
        clicked: 0,
        unique_opened: 1,
        unique_clicked: 0,
        unsubscribed: 1,
        delivery_rate: 0.5,
        open_rate: 1,
        click_rate: 0,
        bounce_rate: 1,
        complaint_rate: 0,
        unsubscribe_rate: 1,
      },
    });
  });

  test('divides messages by messages for a rate, whatever the number of their reports', async () => {
    const [one, two] = [await email(), await email()];
    for (const id of [one, two]) await event('email.sent', id);
    for (let recipients = 0; recipients < 3; recipients += 1) await event('email.delivered', one);
    for (const type of ['email.bounced', 'email.bounced', 'email.soft_bounced'] as const)
      await event(type, two);
    await event('email.opened', one);
    for (const type of ['email.clicked', 'email.clicked', 'email.complained', 'email.complained'] as const)
      await event(type, one);
    const rates = 'delivery_rate,bounce_rate,open_rate,click_rate,complaint_rate';
    const { totals, data } = await metrics(`${MARCH}&metrics=delivered,bounced,${rates}&dimensions=email`);
    expect(totals).toEqual({
      delivered: 3,
      bounced: 3,
      delivery_rate: 0.5,
      bounce_rate: 0.5,
      open_rate: 1,
      click_rate: 1,
      complaint_rate: 1,
    });
    expect(data).toContainEqual({
      email_id: two,
      delivered: 0,
      bounced: 3,
      delivery_rate: 0,
      bounce_rate: 1,
      open_rate: 0,
      click_rate: 0,
      complaint_rate: 0,
    });
  });

  test('has a rate of 1 at most, also when the mail was sent before the range', async () => {
    const [one, two] = [await email(), await email()];
    await event('email.sent', one, '2026-02-28T23:59:59Z');
    await event('email.sent', two);
    for (const id of [one, two]) await event('email.delivered', id);
    for (let n = 0; n < 3; n += 1) await event('email.unsubscribed', null);
    expect((await metrics(`${MARCH}&metrics=delivery_rate,unsubscribe_rate`)).totals).toEqual({
      delivery_rate: 1,
      unsubscribe_rate: 1,
    });
  });

  test('counts unsubscribes of no message: under null, and not with a domain or a message', async () => {
    const id = await email();
    await event('email.delivered', id);
    await event('email.unsubscribed', null);
    const query = `${MARCH}&metrics=unsubscribed`;
    expect((await metrics(`${query}&dimensions=email`)).data).toContainEqual({
      email_id: null,
      unsubscribed: 1,
    });
    expect((await metrics(`${query}&email_id=${id}`)).totals).toEqual({ unsubscribed: 0 });
  });

  test('without dates counts the last six days', async () => {
    const id = await email();
    const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    for (const hours of [6 * 24 + 1, 6 * 24 - 1, 1]) await event('email.sent', id, ago(hours));
    expect((await metrics('?metrics=sent')).totals).toEqual({ sent: 2 });
  });

  test('breaks the count down by period, in a time zone', async () => {
    const id = await email();
    await event('email.sent', id, '2026-03-02T10:30:00Z');
    await event('email.sent', id, '2026-03-02T23:30:00Z');
    await event('email.delivered', id, '2026-03-03T01:00:00Z');
    const by = async (more: string) =>
      (await metrics(`${MARCH}&metrics=sent,delivered&dimensions=period${more}`)).data;
    expect(await by('')).toEqual([
      { period: '2026-03-02', sent: 2, delivered: 0 },
      { period: '2026-03-03', sent: 0, delivered: 1 },
    ]);
    expect(await by('&timezone=Europe/Berlin')).toEqual([
      { period: '2026-03-02', sent: 1, delivered: 0 },
      { period: '2026-03-03', sent: 1, delivered: 1 },
    ]);
    expect(await by('&granularity=hourly')).toMatchObject([
      { period: '2026-03-02T10:00:00' },
      { period: '2026-03-02T23:00:00' },
      { period: '2026-03-03T01:00:00' },
    ]);
    expect(await by('&granularity=weekly')).toEqual([{ period: '2026-03-02', sent: 2, delivered: 1 }]);
    expect(await by('&granularity=monthly')).toEqual([{ period: '2026-03-01', sent: 2, delivered: 1 }]);
  });

  test.each([
    ['EET', '2026-07-01T21:30:00Z'],
    ['CET', '2026-07-01T22:30:00Z'],
    ['met', '2026-07-01T22:30:00Z'],
    ['WET', '2026-07-01T23:30:00Z'],
  ])('knows the summer time of %s', async (name, at) => {
    await event('email.sent', null, at);
    const query = `?start_date=2026-07-01&end_date=2026-07-05&metrics=sent&dimensions=period&timezone=${name}`;
    expect((await metrics(query)).data).toEqual([{ period: '2026-07-02', sent: 1 }]);
  });

  test.each(['GB-Eire', 'NZ-CHAT', 'W-SU', 'GMT%2B0', 'GMT-0', 'Etc/GMT%2B5', 'EST5EDT', 'ROK'])(
    'knows the time zone %s',
    async (name) => {
      await event('email.sent', null);
      const { data } = await metrics(`${MARCH}&metrics=sent&dimensions=period&timezone=${name}`);
      expect(data).toHaveLength(1);
    },
  );

  test('never counts by an abbreviation of Postgres that means another time to Intl', async () => {
    const at = '2026-07-01T12:30:00Z';
    await event('email.sent', null, at);
    const abbreviations = await api.database.query<{ name: string }>(
      'select distinct abbrev as name from pg_timezone_abbrevs',
    );
    let counted = 0;
    for (const { name } of abbreviations) {
      const query =
        '?start_date=2026-07-01&end_date=2026-07-05&metrics=sent&dimensions=period&granularity=hourly';
      const response = await ask(`${query}&timezone=${encodeURIComponent(name)}`);
      if (response.status === 422) continue;
      const local = new Date(at).toLocaleString('sv', { timeZone: name });
      const period = `${local.slice(0, 13).replace(' ', 'T')}:00:00`;
      expect([name, (response.body as Metrics).data]).toEqual([name, [{ period, sent: 1 }]]);
      counted += 1;
    }
    expect(counted).toBeGreaterThan(5);
  });

  test('breaks the count down by domain and by message, and narrows it to some', async () => {
    await api.rows.domain(caller.accountId, 'a.example');
    const [domain] = await api.database.query<{ id: string }>('select id from domains');
    const [ours, other] = [await email('x@a.example'), await email('x@elsewhere.example')];
    for (const id of [ours, ours, other]) await event('email.sent', id);
    const query = `${MARCH}&metrics=sent`;
    const { data, totals } = await metrics(`${query}&dimensions=domain`);
    expect(totals).toEqual({ sent: 3 });
    expect(data).toHaveLength(2);
    expect(data).toContainEqual({ domain_id: domain?.id, domain_name: 'a.example', sent: 2 });
    expect(data).toContainEqual({ domain_id: null, domain_name: null, sent: 1 });
    expect((await metrics(`${query}&dimensions=email`)).data).toEqual(
      [
        { email_id: ours, sent: 2 },
        { email_id: other, sent: 1 },
      ].sort((a, b) => (a.email_id < b.email_id ? -1 : 1)),
    );
    expect((await metrics(`${query}&domain_id=${domain?.id}`)).totals).toEqual({ sent: 2 });
    expect((await metrics(`${query}&email_id=${other}`)).totals).toEqual({ sent: 1 });
    expect((await metrics(`${query}&email_id=${other},${ours}`)).totals).toEqual({ sent: 3 });
    const both = `${query}&dimensions=domain&domain_id=${newId('domain', systemClock)}`;
    expect(await metrics(both)).toMatchObject({ totals: { sent: 0 }, data: [] });
  });

  test('tells nothing of the mail and domains of another account', async () => {
    const stranger = await api.newCaller();
    await api.rows.domain(stranger.accountId, 'theirs.example');
    const theirs = await email('x@theirs.example', stranger);
    const [domain] = await api.database.query<{ id: string }>('select id from domains');
    await event('email.sent', theirs, '2026-03-02T10:30:00Z', stranger);
    await event('email.sent', theirs); // an event of ours that names their message
    expect((await metrics(`${MARCH}&metrics=sent&dimensions=domain`)).data).toEqual([
      { domain_id: null, domain_name: null, sent: 1 },
    ]);
    expect((await metrics(`${MARCH}&metrics=sent&domain_id=${domain?.id}`)).totals).toEqual({ sent: 0 });
  });

  test('refuses a range with more than 50,000 events, and counts as many', async () => {
    await api.database.query(
      `insert into events (id, account_id, type, created_at, data)
       select 'evt_' || n, $1, 'email.sent', '2026-03-02T10:30:00Z', '{"email_id":null}' from generate_series(1, 50000) n`,
      [caller.accountId],
    );
    expect((await metrics(`${MARCH}&metrics=sent`)).totals).toEqual({ sent: 50_000 });
    await event('email.sent', null);
    expect(expectProblem(await ask(`${MARCH}&metrics=sent`), 'validation-failed')).toBe(
      'The range has more than 50000 events. Ask for a shorter one.',
    );
    expect((await metrics(`${MARCH}&metrics=clicked`)).totals).toEqual({ clicked: 0 });
  });

  test('refuses an answer with more than 10,000 entries', async () => {
    const add = async (from: number, to: number) =>
      api.database.query(
        `insert into events (id, account_id, type, created_at, data)
         select type || n, $1, type, '2026-03-02T10:30:00Z', '{"email_id":"em_' || lpad(n::text, 26, '0') || '"}'
         from generate_series($2::int, $3::int) n, unnest('{email.sent,email.delivered}'::text[]) type`,
        [caller.accountId, from, to],
      );
    const query = `${MARCH}&metrics=sent,delivered`;
    await add(1, 10_000);
    const { data } = await metrics(`${query}&dimensions=period,email`);
    expect(data).toHaveLength(10_000);
    expect(data?.every(({ sent, delivered }) => sent === 1 && delivered === 1)).toBe(true);
    await add(10_001, 10_100);
    expect(expectProblem(await ask(`${query}&dimensions=email`), 'validation-failed')).toBe(
      'data has more than 10000 entries. Ask for a shorter range, or for fewer dimensions.',
    );
    expect((await metrics(`${query}&dimensions=period`)).data).toMatchObject([
      { sent: 10_100, delivered: 10_100 },
    ]);
  });

  test.each([
    ['?end_date=0001-01-02', '0001-01-01T00:00:00.000Z', '0001-01-02T00:00:00.000Z'],
    ['?start_date=9999-12-25&end_date=9999-12-31', '9999-12-25T00:00:00.000Z', '9999-12-31T00:00:00.000Z'],
    ['?start_date=2026-03-01&end_date=2026-04-01', '2026-03-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z'],
  ])('counts at the ends of the calendar, and 31 days: %s', async (query, start, end) => {
    expect(await metrics(query)).toMatchObject({ start_date: start, end_date: end, totals: { sent: 0 } });
  });

  test.each([
    ['?metrics=sent,suppressed', 'metrics "sent,suppressed" has an unknown metric.'],
    ['?dimensions=broadcast', 'dimensions "broadcast" has an unknown dimension.'],
    ['?broadcast_id=1', '"broadcast_id" is not a parameter of this route; the nearest one is domain_id.'],
    ['?granularity=yearly', 'granularity "yearly" is not hourly, daily, weekly or monthly.'],
    ['?timezone=Mars/Olympus', 'timezone "Mars/Olympus" is not a name of a time zone.'],
    ['?timezone=AST', 'timezone "AST" is not a name of a time zone.'],
    ['?timezone=%2B01:00', 'timezone "+01:00" is not a name of a time zone.'],
    ['?timezone=%27', `timezone "'" is not a name of a time zone.`],
    ['?email_id=1', 'email_id "1" is not a list of at most 50 ids.'],
    ['?start_date=soon', 'start_date "soon" is neither a date nor a time such as 2026-11-20T10:00:00Z.'],
    ['?start_date=2026-03-05&end_date=2026-03-01', 'start_date is after end_date.'],
    ['?start_date=2026-03-01&end_date=2026-04-02', 'The range is longer than 31 days.'],
    ['?metrics=sent&metrics=opened', 'metrics ["sent","opened"] is given more than once.'],
  ])('refuses %s', async (query, detail) => {
    const response = await ask(query);
    expectProblem(response, 'validation-failed');
    expect((JSON.parse(textOf(response)) as { detail: string }).detail).toBe(detail);
  });

  test('needs emails:read; a test key counts nothing', async () => {
    await event('email.sent', await email(), new Date().toISOString());
    const sender = await api.newCaller({ accountId: caller.accountId, scopes: ['emails:send'] });
    expectProblem(await ask('', sender), 'api-key-forbidden');
    const testing = await api.newCaller({ accountId: caller.accountId, kind: 'test', scopes: SCOPES });
    expect((await ask('?metrics=sent', testing)).body).toMatchObject({ totals: { sent: 0 } });
  });

  test('“metrics” is no id of an email', async () => {
    const all = await api.newCaller({ scopes: SCOPES });
    const answer = await request(api.url)
      .get('/v1/emails/metrics/events')
      .set('authorization', all.authorization);
    expect(expectProblem(answer, 'not-found')).toBe('There is no such email.');
  });
});
