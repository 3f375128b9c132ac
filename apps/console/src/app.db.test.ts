import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { waitFor, withClient } from '@postrider/testing';
import { HttpVisitor, tokensOf } from '../test/http-visitor.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

const opened = setupConsole();
beforeEach(() => opened.rows.clear());

const stranger = () => new HttpVisitor(opened.url);
const ada = () => stranger().signIn(KEYS.ada);

test('an idle connection outlives the ten minutes of a proxy', async () => {
  const { headers } = await fetch(`${opened.url}/healthz`);
  expect(headers.get('keep-alive')).toBe('timeout=620');
});

test('health and metrics need no key', async () => {
  expect((await stranger().get('/healthz')).text).toBe('{"status":"ok"}');
  expect((await stranger().get('/readyz')).status).toBe(200);
  expect((await stranger().get('/metrics')).text).toContain('postrider_postgres_errors_total');
});

// A proxy that keeps strangers from `/metrics` may compare whole paths.
test.each(['/METRICS', '/metrics/', '/Readyz'])('%s is no page', async (path) => {
  expect((await stranger().get(path)).text).not.toMatch(/postrider_|ready/);
});

// A proxy that signs people in may add several cookies of 4 KiB.
test('24 KiB of cookies get the sign-in page', async () => {
  const cookie = Array.from({ length: 6 }, (_, n) => `session-${n}=${'x'.repeat(4_096)}`).join('; ');
  const { status, text } = await stranger().get('/sign-in', { cookie });
  expect(status).toBe(200);
  expect(text).toContain('Sign in');
});

test.each(['/metrics#x', '/readyz#', '/healthz#x', '/sign-in?next=/#x'])('%s is malformed', async (path) => {
  const { hostname, port } = new URL(opened.url);
  const [answer] = (await once(get({ hostname, port, path }), 'response')) as [IncomingMessage];
  expect(answer.statusCode).toBe(400);
  expect(await text(answer)).toContain('This request is malformed');
});

describe('signing in', () => {
  test.each([
    '/',
    '/accounts/acct_1',
    '/nothing',
    '/webhooks/wh_1',
    '/recover',
    '/recoveries',
    '/recoveries/rec_1',
  ])('%s shows nothing without it', async (path) => {
    const { status, location, text } = await stranger().get(path);
    expect({ status, location }).toEqual({
      status: 303,
      location: path === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(path)}`,
    });
    expect(text).not.toContain('Overview');
  });

  test('of a user who follows a link on another site is looked for again, without showing a page', async () => {
    const from = (site: string) => ({ 'sec-fetch-site': site });
    const foreign = await stranger().get('/held', from('cross-site'));
    expect({ status: foreign.status, refresh: foreign.headers['refresh'] }).toEqual({
      status: 200,
      refresh: '0',
    });
    expect(foreign.text).not.toContain('Held mail');
    expect((await stranger().get('/held', from('same-origin'))).location).toBe('/sign-in?next=%2Fheld');
    expect((await (await ada()).get('/held', from('cross-site'))).text).toContain('Held mail');
  });

  test('a key opens a session, in a cookie that no script and no other site gets', async () => {
    const visitor = stranger();
    const { status, location, setCookie } = await visitor.post('/sign-in', {
      key: ` ${KEYS.ada}\n`,
      next: '/held?x=1',
    });
    expect({ status, location }).toEqual({ status: 303, location: '/held?x=1' });
    expect(setCookie).toMatch(
      /^__Host-postrider-console=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const { text } = await visitor.get('/');
    expect(text).toContain('<b>ada</b> operator');
    expect(opened.log()).not.toContain(KEYS.ada);
  });

  test.each([
    '//evil.example',
    '/\\evil.example',
    'https://evil.example/',
    '/\t/evil.example',
    'javascript:1',
  ])('leads to no other site: %j', async (next) => {
    expect((await stranger().post('/sign-in', { key: KEYS.ada, next })).location).toBe('/');
  });
});

describe('a session', () => {
  test('ends with Sign out, also for a copy of its cookie', async () => {
    const visitor = await ada();
    const { cookie } = visitor;
    const { csrf } = tokensOf((await visitor.get('/')).text, '/sign-out');
    const { status, location, setCookie } = await visitor.post('/sign-out', { csrf });
    expect({ status, location }).toEqual({ status: 303, location: '/sign-in' });
    expect(setCookie).toContain('Max-Age=0');
    const copy = await fetch(`${opened.url}/`, { headers: { cookie }, redirect: 'manual' });
    expect(copy.status).toBe(303);
  });

  test('is not ended by another site, or without the token of its pages', async () => {
    const visitor = await ada();
    const { csrf } = tokensOf((await visitor.get('/')).text, '/sign-out');
    const foreign = await visitor.post('/sign-out', { csrf }, { origin: 'https://evil.example' });
    const forged = await visitor.post('/sign-out', { csrf: 'x'.repeat(csrf.length) });
    expect([foreign.status, forged.status]).toEqual([403, 403]);
    expect((await visitor.get('/')).status).toBe(200);
  });

  test('ends after 12 hours', async () => {
    const visitor = await ada();
    const ends = `select from console_sessions
                  where expires_at between now() + interval '11 hours 50 minutes' and now() + interval '12 hours'`;
    expect(await opened.database.query(ends)).toHaveLength(1);
    await opened.database.query('update console_sessions set expires_at = now()');
    expect((await visitor.get('/')).status).toBe(303);
  });

  test('ends when its key is removed from CONSOLE_KEYS', async () => {
    const visitor = await ada();
    await opened.database.query(`update console_sessions set key_digest = '\\x${'00'.repeat(32)}'`);
    expect((await visitor.get('/')).status).toBe(303);
  });
});

describe('every answer', () => {
  test.each([
    ['/', 'no-store'],
    ['/sign-in', 'no-store'],
    ['/nothing', 'no-store'],
    ['/style.css', 'no-cache'],
    ['/console.js', 'no-cache'],
    ['/accounts/acct_1', 'no-store'],
  ])('%s forbids what it does not need, and is kept as %s', async (path, kept) => {
    const { headers } = await (await ada()).get(path);
    expect(headers).toMatchObject({
      'content-security-policy':
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'cache-control': kept,
      'x-content-type-options': 'nosniff',
    });
    expect(headers).not.toHaveProperty('x-powered-by');
  });

  test('the style is sent again only when it has changed', async () => {
    const { headers } = await stranger().get('/style.css');
    const asked = (etag: string) => ({ 'if-none-match': etag, 'cache-control': 'max-age=0' });
    const same = await stranger().get('/style.css', asked(headers['etag'] ?? ''));
    expect([same.status, same.text]).toEqual([304, '']);
    expect((await stranger().get('/style.css', asked('"other"'))).status).toBe(200);
    expect((await stranger().get('/sign-in')).headers).not.toHaveProperty('etag');
  });

  test('a page that does not exist is 404, and a path that is not well-formed 400', async () => {
    const visitor = await ada();
    expect((await visitor.get('/nothing')).status).toBe(404);
    expect((await visitor.get('/accounts/%ff')).status).toBe(400);
  });
});

describe('a page that cannot be loaded', () => {
  test('says that Postgres cancelled a statement, and can be tried again', async () => {
    const visitor = await ada();
    await withClient(opened.database.url, async (session) => {
      await session.query('begin; lock table audit in access exclusive mode');
      let isAnswered = false;
      const asked = visitor.get('/audit').finally(() => (isAnswered = true));
      // This is what the statement time-out does.
      const cancel = `select pg_cancel_backend(pid) from pg_stat_activity
                      where datname = current_database() and wait_event_type = 'Lock'`;
      const cancelUntilAnswered = async () => {
        await opened.database.query(cancel);
        return isAnswered;
      };
      await waitFor(cancelUntilAnswered, { what: 'the page to fail' });
      const { status, text } = await asked;
      expect(status).toBe(503);
      expect(text).toContain('<h1>Not loaded: Postgres cancelled a statement</h1>');
      expect(text).not.toContain('Deliveries wait');
      await session.query('rollback');
    });
    await visitor.show('/audit');
  });

  test.each([
    ['/?live=30', 'is loaded again after 30 s', '30'],
    ['/recoveries/rec_01kjpx1b50pb7tmnhrrahq69x0?live=5', 'is loaded again after 5 s', '5'],
    ['/recoveries/rec_01kjpx1b50pb7tmnhrrahq69x0', 'is not loaded again', undefined],
  ])('%s %s', async (path, _, seconds) => {
    const visitor = await ada();
    await opened.database.query('alter table recoveries rename to hidden_table');
    try {
      const { status, headers } = await visitor.get(path);
      expect([status, headers['refresh']]).toEqual([500, seconds]);
    } finally {
      await opened.database.query('alter table hidden_table rename to recoveries');
    }
  });

  test('shows the request id and not the error, which the log has', async () => {
    const visitor = await ada();
    await opened.database.query('alter table audit rename to hidden_table');
    try {
      const { status, text, headers } = await visitor.get('/audit');
      expect(status).toBe(500);
      expect(text).toContain('<h1>Something failed here</h1>');
      expect(text).toContain(String(headers['x-request-id']));
      expect(text).not.toContain('does not exist');
      expect(text).not.toContain('Deliveries wait');
      expect(opened.log()).toContain('does not exist');
    } finally {
      await opened.database.query('alter table hidden_table rename to audit');
    }
  });
});
