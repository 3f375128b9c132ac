import { beforeEach, describe, expect, test } from '@jest/globals';
import { untilWaitingForLock, waitFor, withClient } from '@postrider/testing';
import { makeHistory, RECOVERY } from '../test/history.ts';
import { HttpVisitor, tokensOf, valuesOf } from '../test/http-visitor.ts';
import type { Answer } from '../test/http-visitor.ts';
import { makeOutage } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

const opened = setupConsole();
let outage: Outage;
let ada: HttpVisitor;
beforeEach(async () => {
  await opened.rows.clear();
  outage = await makeOutage(opened.database, opened.rows);
  await makeHistory(opened.database, outage);
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

interface Form {
  readonly page: () => string;
  readonly action: () => string;
  /** The page to return to, as a pattern. Absent: `page`. */
  readonly back?: string;
  readonly fields?: () => Record<string, string>;
  /** The number of rows that the form has changed. */
  readonly acted: string;
}

/** Every form that acts. */
const FORMS: Readonly<Record<string, Form>> = {
  'a replay': {
    page: () => `/events/${outage.eventId}`,
    action: () => `/events/${outage.eventId}/replay`,
    fields: () => ({ webhook: outage.failing }),
    acted: `select from audit where action = 'event.replay'`,
  },
  'a release': {
    page: () => `/messages/${outage.messageId}`,
    action: () => `/messages/${outage.messageId}/release`,
    fields: () => ({ note: 'ticket 9' }),
    acted: `select from messages where status = 'released'`,
  },
  'a recovery': {
    page: () => `/recover?webhook=${outage.failing}&failing=include&only=all`,
    action: () => '/recoveries',
    back: '/recover\\?webhook=wh_.*&since=.*&rate=200&only=all&failing=include',
    acted: `select from recoveries where id <> '${RECOVERY}'`,
  },
  'a stop': {
    page: () => `/recoveries/${RECOVERY}`,
    action: () => `/recoveries/${RECOVERY}/stop`,
    acted: 'select from recoveries where stopped',
  },
};

/** Everything that a browser of an operator sends with the form. */
async function fieldsOf({ page, action, fields }: Form): Promise<Record<string, string>> {
  const values = valuesOf((await ada.get(page())).text, action());
  expect(values).toMatchObject({ csrf: expect.stringMatching(/./), once: expect.stringMatching(/./) });
  return { ...values, ...fields?.() };
}

const actedOf = async ({ acted }: Form) => (await opened.database.query(acted)).length;

type Send = (form: Form, fields: Record<string, string>) => Promise<Answer>;

/** Everybody who must not act. */
const REFUSED: [string, number, Send][] = [
  [
    'a reader, with the tokens of a session',
    403,
    async (form, fields) => {
      const kim = await new HttpVisitor(opened.url).signIn(KEYS.kim);
      const { csrf } = tokensOf((await kim.get('/')).text, '/sign-out');
      return kim.post(form.action(), { ...fields, csrf });
    },
  ],
  [
    'a session without the token of its pages',
    403,
    async (form, fields) => ada.post(form.action(), { ...fields, csrf: 'x'.repeat(43) }),
  ],
  [
    'a form without the token of its pages',
    403,
    async (form, fields) => ada.post(form.action(), { ...fields, csrf: '' }),
  ],
  [
    'another site',
    403,
    async (form, fields) => ada.post(form.action(), fields, { origin: 'https://evil.example' }),
  ],
  ['a page that hides its origin', 403, async (form, fields) => ada.post(form.action(), fields, {})],
  [
    'a sandboxed frame of another site',
    403,
    async (form, fields) =>
      ada.post(form.action(), fields, { origin: 'null', 'sec-fetch-site': 'cross-site' }),
  ],
  [
    'another site, without the cookie',
    403,
    async (form, fields) =>
      new HttpVisitor(opened.url).post(form.action(), fields, { origin: 'https://evil.example' }),
  ],
  [
    'a wrong key',
    303,
    async (form, fields) => {
      const stranger = await new HttpVisitor(opened.url).signIn('a wrong key');
      return stranger.post(form.action(), fields);
    },
  ],
];

describe.each(Object.entries(FORMS))('%s', (_, form) => {
  test.each(REFUSED)('by %s is refused, and changes nothing', async (who, expected, send) => {
    const { status, location, text } = await send(form, await fieldsOf(form));
    expect(status).toBe(expected);
    // A form of another site names its own page, so its refusal leads to the overview.
    const isForeign = /another site|hides its origin/.test(who);
    const page = isForeign ? '/' : `${(form.back ?? form.page()).split(/\\?\?/)[0] ?? ''}[^"]*`;
    if (expected === 403) expect(text).toMatch(new RegExp(`<a class="btn" href="${page}">Back</a>`));
    const [, next] = /^\/sign-in\?form=unsent&next=(.*)$/.exec(location ?? '') ?? [];
    const back = new RegExp(`^${form.back ?? form.page()}$`);
    if (expected === 303) expect(decodeURIComponent(next ?? '')).toMatch(back);
    else expect(location).toBeNull();
    expect(await actedOf(form)).toBe(0);
  });

  test('sent twice acts once, and both get the first result', async () => {
    const fields = await fieldsOf(form);
    const first = await ada.post(form.action(), fields);
    const second = await ada.post(form.action(), fields);
    expect(first.status).toBe(303);
    expect(second).toMatchObject({ status: 303, location: first.location });
    expect(await actedOf(form)).toBe(1);
  });

  test('of a browser that hides its origin acts when the browser names its site as the same', async () => {
    const headers = { origin: 'null', 'sec-fetch-site': 'same-origin' };
    expect((await ada.post(form.action(), await fieldsOf(form), headers)).status).toBe(303);
    expect(await actedOf(form)).toBe(1);
  });

  test('with a field that it does not have is refused', async () => {
    const fields = { ...(await fieldsOf(form)), everything: '1' };
    const { status, text } = await ada.post(form.action(), fields);
    expect(status).toBe(400);
    expect(text).toMatch(
      /<a class="btn" href="\/(?:events|messages|recover|recoveries)[/?][^"]+">Back to the page</,
    );
    expect(await actedOf(form)).toBe(0);
  });

  test('of a session that has ended says that it changed nothing', async () => {
    const fields = await fieldsOf(form);
    await opened.database.query('delete from console_sessions');
    const { location } = await ada.post(form.action(), fields);
    const { text } = await ada.get(location ?? '');
    const wrong = await ada.post('/sign-in', { form: 'unsent', next: form.page(), key: 'a wrong key' });
    for (const page of [text, wrong.text]) {
      expect(page).toContain('Your session has ended. The form that you sent changed nothing.');
      expect(page).toMatch(/aria-describedby="unsent( fault)?"/);
    }
    expect(await actedOf(form)).toBe(0);
  });
});

/** Whether a form has looked for the result of its first click since this time. */
const hasLookedFor = async (since: string) => {
  const found = await opened.database.query(
    `select from pg_stat_activity
     where pid <> pg_backend_pid() and datname = current_database() and query_start > $1::timestamptz
       and query like '%select location, outcome from console_forms%'`,
    [since],
  );
  return found.length > 0;
};

const REMOVE_WEBHOOK = `
  with locked as (select id from webhooks where id = $1 for update)
  update webhooks w set removed_at = now() from locked l where w.id = l.id`;

test.each([
  ['its result', 'select from events where id = $1 for no key update', () => outage.eventId, 303],
  ['its refusal', REMOVE_WEBHOOK, () => outage.failing, 400],
] as const)('a second click while the first acts gets %s', async (_, lock, locked, status) => {
  const form = FORMS['a replay'] as Form;
  const fields = await fieldsOf(form);
  await withClient(opened.database.url, async (session) => {
    await session.query('begin');
    await session.query(lock, [locked()]);
    const first = ada.post(form.action(), fields);
    await untilWaitingForLock(opened.database);
    const [now] = await opened.database.query<{ text: string }>('select clock_timestamp()::text as text');
    const second = ada.post(form.action(), fields);
    await waitFor(async () => hasLookedFor(now?.text ?? ''), { what: 'the second to look for a result' });
    await session.query('commit');
    const { location } = await first;
    expect([(await first).status, await second]).toEqual([
      status,
      expect.objectContaining({ status, location }),
    ]);
    expect(await actedOf(form)).toBe(status === 303 ? 1 : 0);
  });
});

test('a reader sees every page without the forms and buttons that act', async () => {
  const kim = await new HttpVisitor(opened.url).signIn(KEYS.kim);
  const paths = [
    '/',
    `/accounts/${outage.accountId}`,
    `/webhooks/${outage.failing}`,
    `/events/${outage.eventId}`,
    `/emails/${outage.emailId}`,
    `/messages/${outage.messageId}`,
    '/dead-letters?account=Meadow+Shop',
    '/held',
    '/audit',
    '/recoveries',
    ...Object.values(FORMS).map(({ page }) => page()),
  ];
  for (const path of paths) {
    const { status, text } = await kim.get(path);
    expect({ path, status }).toEqual({ path, status: 200 });
    expect(text.match(/<form[^>]*method="post"[^>]*>/g)).toEqual([
      expect.stringContaining('action="/sign-out"'),
    ]);
    for (const button of ['Release…', 'Recover…', 'Recover these…', 'Stop…', 'Replay…'])
      expect({ path, shows: text.includes(button) }).toEqual({ path, shows: false });
  }
});

test('a form of another kind of body is refused', async () => {
  const form = FORMS['a stop'] as Form;
  const fields = await fieldsOf(form);
  const headers = { origin: opened.url, 'content-type': 'text/plain' };
  expect((await ada.post(form.action(), fields, headers)).status).toBe(403);
  expect(await actedOf(form)).toBe(0);
});
