import { beforeEach, describe, expect, test } from '@jest/globals';
import { createSecretBox } from '@postrider/domain';
import { createRecoveryStore, createWebhookStore } from '@postrider/store';
import { systemClock, untilWaitingForLock } from '@postrider/testing';
import { HttpVisitor, textOf, tokensOf, valuesOf } from '../test/http-visitor.ts';
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

const show = (path: string) => ada.show(path);

const replayOf =
  (outcome: Outage, fields: Record<string, string> = {}) =>
  async (visitor: HttpVisitor) => {
    const path = `/events/${outcome.eventId}/replay`;
    const form = valuesOf((await ada.get(`/events/${outcome.eventId}`)).text, path);
    return visitor.post(path, { ...form, webhook: outcome.failing, ...fields });
  };

const queuedAgain = () =>
  opened.database.query('select webhook_id from deliveries where event_id = $1', [outage.eventId]);

describe('the story of an event', () => {
  test('has the request, the report, each webhook, each attempt and the answer', async () => {
    const words = textOf(await show(`/events/${outage.eventId}`));
    for (const part of [
      'Delivered to 1 of 2 webhooks. 1 is in a dead letter.',
      'Request req_0123',
      `From Meadow Shop <orders@shop.example.com> to ${RECIPIENT} , “ ${HOSTILE_SUBJECT} ”`,
      'The provider reported email.bounced: Permanent, General',
      'Given up as attempts_exhausted , last error HTTP 503',
      'same response as 1',
      `"email_id": "${outage.emailId}"`,
    ])
      expect(words).toContain(part);
    expect(words.indexOf('hooks.')).toBeLessThan(words.lastIndexOf('crm.'));
  });

  test('has the date of each day, of its cause and of its attempts', async () => {
    await opened.database.query(
      `update emails set created_at = '2026-11-24T23:59:58Z', sent_at = '2026-11-25T00:00:01Z'`,
    );
    await opened.database.query(
      `update events set created_at = '2026-11-25T00:00:04Z', data = (data::jsonb || '{"occurred_at": "2026-11-25T00:00:03Z"}')::json`,
    );
    await opened.database.query('update dead_letters set created_at = $1', ['2026-11-26T06:00:00Z']);
    await opened.database.query(
      `update attempts set started_at = '2026-11-25T23:00:00Z'::timestamptz + attempt * interval '45 min' where webhook_id = $1`,
      [outage.failing],
    );
    const words = textOf(await show(`/events/${outage.eventId}`));
    expect(words).toContain('Cause UTC 24 Nov 2026 23:59:58.000 Request with');
    expect(words).toContain('25 Nov 2026 after +3 s 00:00:01.000 Sent');
    expect(words).toContain(' after +2 s 00:00:03.000 The provider');
    expect(words).toContain('25 Nov 2026 23:45:00.000 Attempt 1 ');
    expect(words).toContain('26 Nov 2026 after +45 min 00:30:00.000 Attempt 2 ');
    expect(words).toContain('same response as 1 after +45 min 01:15:00.000 Attempt 3 ');
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

  test('says that a 410 is never retried, and of another status nothing', async () => {
    const page = async () => textOf(await show(`/events/${outage.eventId}`));
    expect(await page()).not.toContain('never retries');
    await opened.database.query(
      `update dead_letters set reason = 'rejected', status_code = 410, last_error = 'HTTP 410'`,
    );
    expect(await page()).toContain('last error HTTP 410 . Postrider never retries a 410. Dead letter');
    await opened.database.query(`update dead_letters set status_code = null, last_error = 'refused address'`);
    expect(await page()).not.toContain('never retries');
  });

  test('says of a dead letter whether its endpoint fails now', async () => {
    const page = async () => textOf(await show(`/events/${outage.eventId}`));
    expect(await page()).toMatch(
      /Dead letter dl_.* kept until [^.]*\. The endpoint has been failing since \d/,
    );
    await opened.database.query('update webhooks set failing_since = null');
    expect(await page()).not.toContain('has been failing');
  });

  test('names each recipient of its email, also those in copy', async () => {
    await opened.database.query(
      `update emails set cc_addresses = '{c@c.example}', bcc_addresses = '{d@d.example}'`,
    );
    await opened.database.query(`update events set type = 'email.sent', data = $2 where id = $1`, [
      outage.eventId,
      JSON.stringify({ email_id: outage.emailId, from: 'a@a.example', subject: 'x', error: null }),
    ]);
    expect(textOf(await show(`/events/${outage.eventId}`))).toContain(`${RECIPIENT} c@c.example d@d.example`);
    const all = `${RECIPIENT}, c@c.example, d@d.example`;
    expect(textOf(await show(`/webhooks/${outage.healthy}`))).toContain(` ${all} delivered`);
  });

  test('counts no webhook whose attempts have expired', async () => {
    const { database } = opened;
    await database.query(`update events set created_at = '2026-03-01T12:00:00Z'`);
    await database.query(`update webhooks set created_at = '2026-01-01T12:00:00Z'`);
    await database.query('delete from dead_letters');
    await database.query(
      `create table attempts_20260302 partition of attempts for values from ('2026-03-02Z') to ('2026-03-03Z')`,
    );
    await database.query('delete from attempts where webhook_id = $1', [outage.failing]);
    const words = async () => textOf(await show(`/events/${outage.eventId}`));
    expect(await words()).toContain('Delivered to 1 of 1 webhook. 1 is older than the attempt log.');
    await database.query('delete from attempts');
    expect(await words()).toContain('Its deliveries are unknown. 2 are older than the attempt log.');
    expect(textOf(await show(`/emails/${outage.emailId}`))).toContain('2 attempts expired unknown');
    await database.query('drop table attempts_20260302');
  });

  test('names the host of a deleted webhook, and when it was deleted', async () => {
    const { accountId, failing, eventId } = outage;
    const webhooks = createWebhookStore(opened.db, createSecretBox([Buffer.alloc(32)]), systemClock);
    await webhooks.delete(accountId, failing, { kind: 'cli', name: 'root' });
    await opened.database.query(
      `update audit set created_at = '2001-11-25T07:17:42Z' where action = 'webhook.delete'`,
    );
    expect(textOf(await show(`/events/${eventId}`))).toContain(
      'hooks.shop.example.com dropped The webhook was deleted at 25 Nov 2001 07:17:42 .',
    );
  });

  test('copies the subject that a webhook of a routing rule gets', async () => {
    const subject = `${outage.accountId}/inbound/rule_01jd0000000000000000000001`;
    const copied = async () => textOf(await show(`/events/${outage.eventId}`));
    expect(await copied()).toContain(`"subject":"${outage.accountId}"`);
    await opened.database.query('update webhooks set subject = $1', [subject]);
    expect(await copied()).toContain(`"subject":"${subject}"`);
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
    expect(textOf(page)).toContain('Message Re: Your order');
    expect(textOf(page)).toContain('“ Re: Your order ”. Message');
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
    expect(words).toMatch(
      /1 event was queued for hooks\.shop\.example\.com\/postrider at [\d:]{8} UTC\. The audit records the replay by ada, with the note\./,
    );
    expect(words).toMatch(/after \+\d+ (ms|s) [\d:.]+ Replayed by ada in the console Note: ticket 7\./);
    expect(words).toContain('Given up : attempts_exhausted , last error HTTP 503');
    const none = textOf(await show('/audit?who=Ada'));
    expect(none).toContain('No entry matches A name is compared with its case: ada is not Ada.');
    const audit = textOf(await show('/audit?who=ada'));
    for (const part of ['event.replay', 'ticket 7', 'Meadow Shop']) expect(audit).toContain(part);
  });

  test('that another operator makes at the same time queues the event once, and only that one is in the audit', async () => {
    const { database } = opened;
    await database.query('begin');
    await database.query('select from events where id = $1 for no key update', [outage.eventId]);
    const answers = [replayOf(outage)(ada), replayOf(outage)(ada)];
    await untilWaitingForLock(database, 2);
    await database.query('commit');
    const pages = [];
    for (const answer of answers) pages.push(textOf(await show((await answer).location ?? '')));
    expect(pages.filter((page) => page.includes('1 event was queued'))).toHaveLength(1);
    expect(pages.filter((page) => page.includes('Nothing changed. The event is pending'))).toHaveLength(1);
    expect(await database.query(`select from audit where action = 'event.replay'`)).toHaveLength(1);
  });

  test('from a page that is older than a delivery changes nothing', async () => {
    const path = `/events/${outage.eventId}/replay`;
    const old = valuesOf(await show(`/events/${outage.eventId}`), path);
    await opened.database.query('delete from dead_letters');
    await opened.database.query(`update attempts set webhook_id = $1, status = 200, error = null`, [
      outage.failing,
    ]);
    const { location } = await ada.post(path, old);
    const words = textOf(await show(location ?? ''));
    expect(words).toContain('Nothing changed. The state of this delivery was another than on your page.');
    expect(words).toContain('The endpoint already has this event and gets it again.');
    expect(await queuedAgain()).toEqual([]);
    expect((await ada.post(path, valuesOf(await show(`/events/${outage.eventId}`), path))).status).toBe(303);
  });

  test('shows nothing of a note that the audit leaves out', async () => {
    const answer = await replayOf(outage, { note: 'asked for by joe@example.org' })(ada);
    const page = await show(answer.location ?? '');
    expect(textOf(page)).toContain('Note: asked for by [address].');
    expect(page).not.toContain('joe@example.org');
    expect(
      await opened.database.query('select from console_forms where outcome like $1', ['%joe@%']),
    ).toEqual([]);
  });

  test.each([
    [{ webhook: 'wh_x' }, 'Webhook is not the id of a webhook'],
    [{ weebhook: 'x' }, 'weebhook is unknown here'],
    [{ note: 'x'.repeat(201) }, 'Note has at most 200 characters'],
    [{ once: '' }, 'once is not the token of a form'],
  ])('with %j is refused by name', async (fields, words) => {
    const { status, text } = await replayOf(outage, fields)(ada);
    expect(status).toBe(400);
    expect(textOf(text)).toContain(words);
    expect(await queuedAgain()).toEqual([]);
  });

  test('of many dead letters is in the story of each event, with who did it', async () => {
    await opened.database.query(
      `insert into audit (created_at, actor_kind, actor, action, account_id, target, webhook_id, count, note)
       values (now() - interval '2 s', 'cli', 'root', 'dead-letters.replay', $1, $2, $2, 3, 'ticket 8')`,
      [outage.accountId, outage.failing],
    );
    await opened.database.query(
      `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status)
       values (now() - interval '1 s', 9, 1, $1, $2, 'email.bounced', 5, 200)`,
      [outage.eventId, outage.failing],
    );
    const page = await show(`/events/${outage.eventId}`);
    expect(textOf(page)).toContain(
      'Replayed by root on the command line, with other events of the webhook Note: ticket 8.',
    );
    expect(page).toContain(`href="/audit?target=${outage.failing}"`);
  });

  test('by a recovery of this one event leads to the entry of the recovery in the audit', async () => {
    const { accountId, failing, eventId } = outage;
    const asked = {
      since: new Date(Date.now() - 60_000),
      types: [],
      only: 'undelivered',
      rate: 200,
    } as const;
    const by = { kind: 'cli', name: 'root', note: 'ticket 9' } as const;
    const started = await createRecoveryStore(opened.db, systemClock).start(accountId, failing, asked, by);
    expect(started).toMatchObject({ kind: 'started', count: { matched: 1 } });
    await opened.database.query('update recoveries set queued = 1');
    await opened.database.query(
      `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status)
       values (now() + interval '1 s', 9, 1, $1, $2, 'email.bounced', 5, 200)`,
      [eventId, failing],
    );
    const page = await show(`/events/${eventId}`);
    expect(textOf(page)).toContain('Replayed by root on the command line Note: ticket 9.');
    const [, entry = ''] = /href="(\/audit\?target=rec_\w+)"/.exec(page) ?? [];
    expect(textOf(await show(entry))).toContain('recovery.start');
  });

  test('to a webhook that does not get the event is refused, and the form may be sent again', async () => {
    const other = await opened.rows.webhook();
    const path = `/events/${outage.eventId}/replay`;
    const fields = valuesOf((await ada.get(`/events/${outage.eventId}`)).text, path);
    expect((await ada.post(path, { ...fields, webhook: other })).status).toBe(400);
    expect((await ada.post(path, { ...fields, webhook: outage.failing })).status).toBe(303);
  });
});

test('an email and its event say which recipient a suppression left out', async () => {
  const { emailId, eventId } = outage;
  const cc = 'cc_addresses = array[$2, $3]';
  await opened.database.query(
    `update emails set ${cc}, suppressed_addresses = '{gone@d.example}' where id = $1`,
    [emailId, 'Gone <Gone@d.example>', 'c@c.example'],
  );
  await opened.database.query(`update events set type = 'email.sent', data = $2 where id = $1`, [
    eventId,
    JSON.stringify({ email_id: emailId, from: 'a@a.example', subject: 'x', error: null }),
  ]);
  expect(textOf(await show(`/emails/${emailId}`))).toContain('Left out, suppressed gone@d.example');
  expect(textOf(await show(`/events/${eventId}`))).toMatch(
    /Recipients jane@example\.net Gone <Gone@d\.example> left out, suppressed c@c\.example Email/,
  );
  await opened.database.query(`update emails set suppressed_addresses = '{}'`);
  for (const path of [`/emails/${emailId}`, `/events/${eventId}`])
    expect(textOf(await show(path)).toLowerCase()).not.toContain('left out');
});

test('an email that failed was never sent, and that of a suspended account waits', async () => {
  const sent = `update emails set sent_at = null, status = $2 where id = $1`;
  await opened.database.query(sent, [outage.emailId, 'failed']);
  expect(textOf(await show(`/emails/${outage.emailId}`))).toContain('Sent never: it failed');
  await opened.database.query(sent, [outage.emailId, 'queued']);
  expect(textOf(await show(`/emails/${outage.emailId}`))).toContain('Sent not yet Attachments');
  await opened.database.query('update accounts set suspended_at = now()');
  const words = textOf(await show(`/emails/${outage.emailId}`));
  expect(words).toContain('Sent not yet: the account is suspended Attachments');
});

test('an email has its events, also while a transaction that records another event stays open', async () => {
  const { database } = opened;
  await database.query('begin');
  try {
    await database.query(
      `insert into events (id, account_id, type, created_at, data) values ('evt_open', $1, 'email.sent', now(), '{}')`,
      [outage.accountId],
    );
    expect(await show(`/emails/${outage.emailId}`)).toContain(outage.eventId);
  } finally {
    await database.query('rollback');
  }
});

describe('a message', () => {
  const releaseWith = async (fields: Record<string, string>) => {
    const path = `/messages/${outage.messageId}/release`;
    const tokens = tokensOf((await ada.get(`/messages/${outage.messageId}`)).text, path);
    return ada.post(path, { ...tokens, ...fields });
  };

  test('with a virus is released with a note only', async () => {
    for (const fields of [{}, { note: '' }, { note: ' \t ' }])
      expect((await releaseWith(fields)).status).toBe(400);
    const { status, location } = await releaseWith({ note: 'ticket 9' });
    expect(status).toBe(303);
    expect(textOf(await show(location ?? ''))).toContain('1 message is released.');
    expect(await opened.database.query('select status from messages')).toEqual([{ status: 'released' }]);
    // An erasure does not look here.
    expect(await opened.database.query(`select from console_forms where outcome like '%@%'`)).toEqual([]);
  });

  test('is a page of held mail while it is held', async () => {
    const path = `/messages/${outage.messageId}`;
    const current = 'href="/held" aria-current="page"';
    expect(await show(path)).toContain(current);
    await releaseWith({ note: 'ticket 9' });
    expect(await show(path)).not.toContain(current);
  });

  test('shows its newest event, and what became of it at the webhooks', async () => {
    const path = `/messages/${outage.messageId}`;
    expect(textOf(await show(path))).toContain('No event about this message is known.');
    for (const id of [outage.messageId, await opened.rows.message()]) {
      await opened.database.query(
        `insert into events (id, account_id, type, created_at, data)
         values ('evt_' || right($1, 26), $2, 'message.held', now(), $3)`,
        [id, outage.accountId, JSON.stringify({ object: 'message', id, received_for: [] })],
      );
    }
    const page = await show(path);
    expect(page).toContain(`/events/evt_${outage.messageId.slice(-26)}`);
    expect(textOf(page)).toContain('Newest event message.held 2 dropped 0 of 2');
  });

  test('never shows its text', async () => {
    await opened.database.query(`update messages set text = 'secret words', html = 'secret words'`);
    const page = await show(`/messages/${outage.messageId}`);
    expect(page).toContain('Re: Your order');
    expect(page).not.toContain('secret words');
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
