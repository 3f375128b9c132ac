import { beforeEach, describe, expect, test } from '@jest/globals';
import { HttpVisitor, textOf, tokensOf } from '../test/http-visitor.ts';
import { HOSTILE_ANSWER, HOSTILE_SUBJECT, makeOutage, RECIPIENT } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

const opened = setupConsole();
let outage: Outage;
let ada: HttpVisitor;
beforeEach(async () => {
  await opened.rows.clear();
  outage = await makeOutage(opened.database, opened.rows);
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

const show = async (path: string) => {
  const { status, text } = await ada.get(path);
  expect({ path, status }).toEqual({ path, status: 200 });
  return text;
};

const replayOf =
  (outcome: Outage, fields: Record<string, string> = {}) =>
  async (visitor: HttpVisitor) => {
    const path = `/events/${outcome.eventId}/replay`;
    const { csrf, once } = tokensOf((await ada.get(`/events/${outcome.eventId}`)).text, path);
    return visitor.post(path, { csrf, once, webhook: outcome.failing, ...fields });
  };

const queuedAgain = () =>
  opened.database.query('select webhook_id from deliveries where event_id = $1', [outage.eventId]);

describe('the story of an event', () => {
  test('has the request, the report, each webhook, each attempt and the answer', async () => {
    const words = textOf(await show(`/events/${outage.eventId}`));
    for (const part of [
      'Delivered to 1 of 2 webhooks. 1 is in a dead letter.',
      'Request req_0123',
      `From Meadow Shop <orders@shop.example.com> to ${RECIPIENT} , “${HOSTILE_SUBJECT}”`,
      'The provider reported email.bounced: Permanent, General',
      'Given up as attempts_exhausted , last error HTTP 503',
      'same response as 1',
      `"email_id": "${outage.emailId}"`,
    ])
      expect(words).toContain(part);
    expect(words.indexOf('hooks.')).toBeLessThan(words.lastIndexOf('crm.'));
  });

  test('shows what strangers wrote as text, with its line feeds', async () => {
    const page = await show(`/events/${outage.eventId}`);
    expect(page).not.toContain('<script>document');
    expect(page).not.toContain('<img src=x');
    expect(page).toContain(
      HOSTILE_ANSWER.replace(/&/g, '&amp;')
        .replace(/</g, '&lt;')
        .replace(/>/g, '&gt;')
        .replace(/"/g, '&quot;')
        .replace(/'/g, '&#39;'),
    );
  });

  test('of a received message has the length of its text in place of the text', async () => {
    await opened.database.query(`update events set type = 'message.received', data = $2 where id = $1`, [
      outage.eventId,
      JSON.stringify({
        object: 'message',
        id: outage.messageId,
        text: 'secret words',
        received_for: [RECIPIENT],
      }),
    ]);
    const page = await show(`/events/${outage.eventId}`);
    expect(page).toContain('(12 bytes, not shown)');
    expect(page).not.toContain('secret words');
  });
});

describe('a replay', () => {
  test('queues the event, keeps the dead letter in the audit, and says so', async () => {
    const answer = await replayOf(outage, { note: 'ticket 7' })(ada);
    expect(answer.status).toBe(303);
    expect(answer.location).toMatch(new RegExp(`^/events/${outage.eventId}\\?done=[\\w-]{22}$`));
    expect(await queuedAgain()).toEqual([{ webhook_id: outage.failing }]);
    const words = textOf(await show(answer.location ?? ''));
    expect(words).toContain('1 event is queued for hooks.shop.example.com/postrider.');
    expect(words).toContain('Replayed by ada in the console Note: ticket 7.');
    expect(words).toContain('Given up : attempts_exhausted , last error HTTP 503');
    const audit = textOf(await show('/audit?who=ada'));
    expect(audit).toContain('event.replay');
    expect(audit).toContain('ticket 7');
  });

  test.each([
    [{ webhook: 'wh_x' }, 'webhook is not the id of a webhook'],
    [{ weebhook: 'x' }, 'weebhook is unknown here'],
    [{ note: 'x'.repeat(201) }, 'note has at most 200 characters'],
    [{ once: '' }, 'once is not the token of a form'],
  ])('with %j is refused by name', async (fields, words) => {
    const { status, text } = await replayOf(outage, fields)(ada);
    expect(status).toBe(400);
    expect(textOf(text)).toContain(words);
    expect(await queuedAgain()).toEqual([]);
  });

  test('to a webhook that does not get the event is refused, and the form may be sent again', async () => {
    const other = await opened.rows.webhook();
    const path = `/events/${outage.eventId}/replay`;
    const tokens = tokensOf((await ada.get(`/events/${outage.eventId}`)).text, path);
    expect((await ada.post(path, { ...tokens, webhook: other })).status).toBe(400);
    expect((await ada.post(path, { ...tokens, webhook: outage.failing })).status).toBe(303);
  });
});

describe('the search', () => {
  test('leads from an id to its page, also in capitals and quotes', async () => {
    const letters = await opened.database.query<{ id: string }>('select id from dead_letters');
    const places: [string, string][] = [
      [outage.eventId, `/events/${outage.eventId}`],
      [` "${outage.emailId.toUpperCase()}" `, `/emails/${outage.emailId}`],
      [outage.messageId, `/messages/${outage.messageId}`],
      [outage.failing, `/webhooks/${outage.failing}`],
      [letters[0]?.id ?? '', `/events/${outage.eventId}`],
      ['meadow', `/accounts/${outage.accountId}`],
    ];
    for (const [q, location] of places) {
      const answer = await ada.get(`/search?q=${encodeURIComponent(q)}`);
      expect({ q, status: answer.status, location: answer.location }).toEqual({ q, status: 303, location });
    }
  });

  test('for an address shows its mail, sent and received, and not that of others', async () => {
    const other = await opened.rows.email();
    const words = await show(`/search?q=${RECIPIENT}`);
    expect(words).toContain(`/emails/${outage.emailId}`);
    expect(words).toContain(`/events/${outage.eventId}`);
    expect(words).toContain(`/messages/${outage.messageId}`);
    expect(words).not.toContain(other);
  });

  test('that finds nothing shows the text as text', async () => {
    const page = await show(`/search?q=${encodeURIComponent('<script>x')}`);
    expect(page).toContain('No results for');
    expect(page).not.toContain('<script>x');
    expect((await ada.get('/search?q=')).status).toBe(400);
  });
});

describe('the overview', () => {
  test('says whether it is us or them', async () => {
    const words = textOf(await show('/'));
    expect(words).toContain('Postrider has a fault No worker is running.');
    expect(words).toContain('1 endpoint is failing');
    await opened.database.query(
      `insert into workers (id, slots, queue_kind, queue_prefix) values ('w1', 512, 'postgres', '')`,
    );
    await opened.database.query('update webhooks set failing_since = null');
    const well = textOf(await show('/'));
    await opened.database.query('delete from workers');
    expect(well).toContain('Postrider is healthy');
    expect(well).toContain('No endpoint is failing');
    expect(well).toContain('1 worker with 512 slots');
  });

  test('counts what waits', async () => {
    await opened.rows.email();
    const words = textOf(await show('/'));
    for (const figure of [
      'Outstanding deliveries 3',
      'Dead letters, 24 h 1',
      'Mail not sent yet 1',
      'Held mail 1',
    ])
      expect(words).toContain(figure);
  });

  test('an event that waits too long for its first attempt is our fault', async () => {
    await opened.database.query(
      `insert into workers (id, slots, queue_kind, queue_prefix) values ('w1', 512, 'postgres', '')`,
    );
    await opened.rows.deliveries(outage.healthy, { dueInMs: -301_000 });
    const words = textOf(await show('/'));
    await opened.database.query('delete from workers');
    expect(words).toContain('An event has waited 5 min 1 s for its first attempt');
  });

  test('loads itself again only when asked', async () => {
    expect((await ada.get('/')).headers).not.toHaveProperty('refresh');
    expect((await ada.get('/?live=30')).headers['refresh']).toBe('30');
    expect((await ada.get('/?live=1')).status).toBe(400);
  });
});

describe('lists', () => {
  test.each([
    ['/dead-letters?type=email.bounced', true],
    ['/dead-letters?type=email.sent', false],
    ['/dead-letters?status=503', true],
    ['/dead-letters?status=5xx', true],
    ['/dead-letters?status=4xx', false],
    ['/dead-letters?status=none', false],
    ['/dead-letters?reason=rejected', false],
    ['/dead-letters?account=Meadow+Shop', true],
    ['/dead-letters?since=2100-01-01', false],
    ['/dead-letters?until=2100-01-01+10:30', true],
  ])('%s finds the dead letter: %s', async (path, isFound) => {
    expect((await show(path)).includes(outage.eventId.slice(-7))).toBe(isFound);
  });

  test('dead letters of a webhook are those of this webhook', async () => {
    expect(await show(`/dead-letters?webhook=${outage.failing}`)).toContain(outage.eventId.slice(-7));
    expect(await show(`/dead-letters?webhook=${outage.healthy}`)).toContain('No dead letter matches');
  });

  test('a list goes on with the next page, and shows each entry once', async () => {
    for (let n = 0; n < 54; n += 1) {
      await opened.rows.deadLetter(outage.failing, await opened.rows.event({ accountId: outage.accountId }));
    }
    await opened.database.query(`update dead_letters set created_at = '2026-01-01'`);
    const first = await show('/dead-letters?status=503');
    const [, older = ''] = /href="(\/dead-letters\?[^"]*after=[^"]*)"/.exec(first) ?? [];
    const second = await show(older.replace(/&amp;/g, '&'));
    const idsOn = (page: string) => [...page.matchAll(/href="\/events\/(evt_\w+)"/g)].map(([, id]) => id);
    expect(idsOn(first)).toHaveLength(50);
    expect(idsOn(second)).toHaveLength(5);
    expect(new Set([...idsOn(first), ...idsOn(second)]).size).toBe(55);
  });

  test.each([
    ['/dead-letters?statsu=503', 'statsu is unknown here'],
    ['/dead-letters?status=5', 'status is not a status'],
    ['/dead-letters?since=2026-02-30', 'since is not a time'],
    ['/dead-letters?account=nobody', 'account nobody is unknown'],
    ['/dead-letters?type=a&type=b', 'type is not a type of event'],
    ['/dead-letters?after=x', 'after is not the position'],
    ['/held?reason=x', 'reason is not one of'],
    ['/audit?action=x', 'action is not an action'],
    ['/audit?after=1', 'after 1 is no entry'],
  ])('%s is refused by name', async (path, words) => {
    const { status, text } = await ada.get(path);
    expect(status).toBe(400);
    expect(textOf(text)).toContain(words);
  });

  test('held mail shows its reason, and not that of others', async () => {
    expect(await show('/held')).toContain('clamd found a virus');
    expect(await show('/held?reason=virus')).toContain('Re: Your order');
    expect(await show('/held?reason=spam')).toContain('No mail is held');
  });

  test('the events of a webhook can be filtered by recipient, status and time', async () => {
    const path = `/webhooks/${outage.failing}`;
    expect(await show(path)).toContain('email.bounced');
    expect(await show(`${path}?status=failed`)).toContain(outage.eventId.slice(-7));
    expect(await show(`${path}?status=success`)).toContain('No event matches');
    expect(await show(`${path}?recipient=nobody@example.net`)).toContain('No event matches');
    expect((await ada.get(`${path}?recipient=x`)).status).toBe(400);
  });
});

describe('a message', () => {
  const releaseWith = async (fields: Record<string, string>) => {
    const path = `/messages/${outage.messageId}/release`;
    const tokens = tokensOf((await ada.get(`/messages/${outage.messageId}`)).text, path);
    return ada.post(path, { ...tokens, ...fields });
  };

  test('with a virus is released with a note only', async () => {
    expect((await releaseWith({})).status).toBe(400);
    const { status, location } = await releaseWith({ note: 'ticket 9' });
    expect(status).toBe(303);
    expect(textOf(await show(location ?? ''))).toContain('1 message is released.');
    expect(await opened.database.query('select status from messages')).toEqual([{ status: 'released' }]);
  });

  test('never shows its text', async () => {
    await opened.database.query(`update messages set text = 'secret words', html = 'secret words'`);
    expect(await show(`/messages/${outage.messageId}`)).not.toContain('secret words');
  });
});

test.each(['accounts/acct', 'webhooks/wh', 'events/evt', 'emails/em', 'messages/msg'])(
  '/%s_… that does not exist is 404, with the time of its id',
  async (path) => {
    const { status, text } = await ada.get(`/${path}_01kjpx1b50pb7tmnhrrahq69x0`);
    expect(status).toBe(404);
    expect(textOf(text)).toContain('The id is from');
  },
);
