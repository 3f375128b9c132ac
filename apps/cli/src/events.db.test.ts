import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { openClient, startFaultProxy } from '@postrider/testing';
import { AT, makeParty } from '../test/make-party.ts';
import type { Party } from '../test/make-party.ts';
import { runInProcess, setupCli } from '../test/run-in-process.ts';

const { cli, json, idsOf, database, rows } = setupCli();

/** An account whose event each test looks for, and one whose event it must not find. */
let acme: Party;
let other: Party;

beforeEach(async () => {
  acme = await makeParty(database, rows, 'bob@b.example', 'req-1');
  other = await makeParty(database, rows, 'eve@b.example', 'req-2');
});

/** Copies the event of `acme`, with the same time. */
async function copyEvent(copies: number): Promise<void> {
  await database.query(
    `insert into events (id, account_id, type, created_at, data)
     select 'evt_01jd' || lpad(n::text, 22, '0'), account_id, type, created_at, data
     from events, generate_series(1, $2::int) n where id = $1`,
    [acme.eventId, copies],
  );
}

describe('events find', () => {
  test('finds by each option, in every account, and shows what became of the event', async () => {
    const { eventId, emailId, webhookId, accountId } = acme;
    for (const by of [
      ['--event', eventId],
      ['--email', emailId],
      ['--address', 'Bob <BOB@b.example>'],
      ['--message-id', `<ses-req-1@eu-west-1.amazonses.com>`],
      ['--request', 'req-1'],
      ['--webhook', webhookId],
    ]) {
      expect([by, await idsOf('events', 'find', ...by)]).toEqual([by, [eventId]]);
      expect(await idsOf('events', 'find', ...by, '--account', other.accountId)).toEqual([]);
      const { stdout: line } = await cli('events', 'find', ...by);
      expect(line.split('\n')[1]).toBe(
        `${eventId}  ${AT}  email.bounced  ${accountId}  ${emailId}  1 dead_letter`,
      );
      expect(await idsOf('events', 'find', ...by, '--type', 'email.opened')).toEqual([]);
      expect(await idsOf('events', 'find', ...by, '--status', 'success')).toEqual([]);
      expect(await idsOf('events', 'find', ...by, '--since', AT, '--status', 'failed')).toEqual([eventId]);
      expect(await idsOf('events', 'find', ...by, '--until', AT)).toEqual([]);
    }
    expect(await json('events', 'find', '--event', eventId)).toEqual({
      object: 'list',
      data: [
        {
          id: eventId,
          account: accountId,
          type: 'email.bounced',
          created_at: AT,
          email_id: emailId,
          webhooks: [
            {
              ...{ id: webhookId, endpoint: 'https://hooks.example/in', rule_id: null, failing_since: null },
              ...{ state: 'dead_letter', status: 'failed', attempts: 8, next_attempt_at: null },
              dead_letter_id: expect.stringMatching(/^dl_/),
            },
          ],
        },
      ],
    });
    expect((await cli('events', 'find', '--request', 'req-3')).stdout).toBe('no events\n');
  });

  test('needs exactly one of them, and a webhook that exists', async () => {
    for (const args of [[], ['--email', acme.emailId, '--request', 'req-1']]) {
      expect(await cli('events', 'find', ...args)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('needs one of --event, --email, --address, --message-id, --request'),
      });
    }
    for (const args of [
      ['--address', 'nobody'],
      ['--request', ''],
      ['--message-id', ' '],
    ]) {
      expect(await cli('events', 'find', ...args)).toMatchObject({ code: 2, stdout: '' });
    }
    const missing = newId('webhook', systemClock);
    expect(await cli('events', 'find', '--webhook', missing)).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: no webhook ${missing}\n`,
    });
  });

  test('shows the newest 100 and says where the older ones begin, also those of the same millisecond', async () => {
    await copyEvent(100);
    for (const by of [
      ['--email', acme.emailId],
      ['--webhook', acme.webhookId],
    ]) {
      const { stdout, stderr } = await cli('events', 'find', ...by);
      const [, position = ''] = /^postrider: there are older ones: --after (\d+)\n$/.exec(stderr) ?? [];
      const newest = stdout.match(/^evt_\w+/gm) ?? [];
      const older = await idsOf('events', 'find', ...by, '--after', position);
      expect([newest.length, older.length, new Set([...newest, ...older]).size]).toEqual([100, 1, 101]);
    }
    expect(await cli('events', 'find', '--email', acme.emailId, '--after', 'evt')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('A position is the number in the note under the list.'),
    });
    expect((await cli('events', 'find', '--email', other.emailId)).stderr).toBe('');
  });

  test('says that there may be older ones when it looked at 500 events and none fits', async () => {
    await copyEvent(500);
    const { stdout, stderr } = await cli('events', 'find', '--email', acme.emailId, '--status', 'pending');
    expect(stdout).toBe('no events\n');
    expect(stderr).toMatch(/^postrider: there may be older ones: --after \d+\n$/);
  });
});

describe('events show', () => {
  test('tells the cause, each attempt with the first KiB of the answer, what was given up, and who replayed', async () => {
    const { eventId, emailId, webhookId, accountId } = acme;
    const replay = ['events', 'replay', eventId, '--webhook', webhookId, '--as', 'ada', '--note', 'ticket 7'];
    expect(await json(...replay)).toEqual({ event: eventId, webhook: webhookId, account: accountId });
    const story = await json<{ webhooks: { deliveries: { response: string }[][] }[] }>(
      'events',
      'show',
      eventId,
    );
    expect(story).toMatchObject({
      id: eventId,
      account: accountId,
      data: { email_id: emailId, recipients: ['bob@b.example'] },
      email: { id: emailId, key_id: 'key_1', request_id: 'req-1', to: ['bob@b.example'] },
      message: null,
      webhooks: [
        {
          ...{ id: webhookId, state: 'waiting', status: 'pending', dead_letter: null },
          deliveries: [[{ attempt: 1, status_code: 503, error: 'HTTP 503', duration_ms: 41 }]],
          replays: [
            {
              ...{ by: 'ada', by_kind: 'cli', note: 'ticket 7', of_many: false },
              dead_letter: { reason: 'attempts_exhausted', last_error: 'HTTP 503' },
            },
          ],
        },
      ],
    });
    expect(story.webhooks[0]?.deliveries[0]?.[0]?.response).toHaveLength(1_024);
    const { stdout } = await cli('events', 'show', eventId);
    expect(stdout).not.toContain('\u001b');
    const lines = stdout.split('\n').map((line) => line.trim().replace(/^\S+Z {2}/, ''));
    expect(lines).toEqual(
      expect.arrayContaining([
        `${eventId}: email.bounced of ${accountId}`,
        expect.stringMatching(/^stored: .* by key_1, request req-1$/),
        `${webhookId} https://hooks.example/in: waiting`,
        expect.stringMatching(/^attempt 1 {2}HTTP 503 {2}41 ms {2}<b>\\u\{1b\}\[31m<\/b>\\nx+$/),
        expect.stringMatching(/^given up: attempts_exhausted, HTTP 503, dl_/),
        'replayed by ada (cli): ticket 7',
      ]),
    );
    const order = ['attempt 1', 'given up', 'replayed by'].map((start) =>
      lines.findIndex((line) => line.startsWith(start)),
    );
    expect(order).toEqual(order.toSorted((one, next) => one - next));
  });

  test('shows no text of received mail, and says when no webhook matched', async () => {
    const message = await rows.message({ accountId: acme.accountId });
    await database.query('delete from webhooks');
    const id = await rows.event({ accountId: acme.accountId });
    await database.query(
      `update events set type = 'message.received',
              data = json_build_object('object', 'message', 'id', $2::text, 'text', 'confidential')::text where id = $1`,
      [id, message],
    );
    const story = await json('events', 'show', id);
    expect(story).toMatchObject({
      message: { id: message, from: 'Ann <ann@shop.example>' },
      data: { id: message, text: null, text_length: 12 },
      webhooks: [],
    });
    const { stdout } = await cli('events', 'show', id);
    expect(stdout).toContain('no webhook matched\n');
    expect(stdout + JSON.stringify(story)).not.toContain('confidential');
  });

  test('tells which recipients were suppressed because of the message', async () => {
    const { eventId, emailId, accountId } = acme;
    await database.query(
      `insert into suppressions (id, account_id, address, topic_id, origin, email_id, created_at)
       values ('sup_1', $1, 'bob@b.example', 'top_1', 'bounce', $2, $3)`,
      [accountId, emailId, AT],
    );
    expect(await json('events', 'show', eventId)).toMatchObject({
      is_copy: false,
      lacks_attempts: false,
      suppressions: [
        { id: 'sup_1', address: 'bob@b.example', topic_id: 'top_1', origin: 'bounce', created_at: AT },
      ],
    });
    const { stdout } = await cli('events', 'show', eventId);
    expect(stdout).toContain(`\nsuppressed: bob@b.example since ${AT} (bounce)\n`);
    expect(stdout).not.toMatch(/is gone|more attempts/);
  });

  test('says when the event is a copy, and when the log has more attempts', async () => {
    const { eventId, webhookId } = acme;
    await database.query('delete from events where id = $1', [eventId]);
    await database.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
       select $3::timestamptz + n * interval '1 s', 1, $1, $2, n, 41, 503 from generate_series(2, 1001) n`,
      [eventId, webhookId, AT],
    );
    expect(await json('events', 'show', eventId)).toMatchObject({ is_copy: true, lacks_attempts: true });
    const { stdout } = await cli('events', 'show', eventId);
    expect(stdout).toContain('\nthe event is gone: this is the copy in its dead letter\n');
    expect(stdout).toMatch(/\nthe log has more attempts than these\n$/);
  });

  test('of a missing event fails with one line', async () => {
    const missing = newId('event', systemClock);
    expect(await cli('events', 'show', missing, '--json')).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: no event ${missing}\n`,
    });
  });
});

describe('events replay', () => {
  const outstanding = () => database.query('select event_id as e, webhook_id as w from deliveries');
  const replay = (event: string, webhook: string) =>
    cli('events', 'replay', event, '--webhook', webhook, '--as', 'ada');

  test('queues the event for that webhook, and the audit names who did it', async () => {
    const { eventId, webhookId, accountId } = acme;
    expect(await replay(eventId, webhookId)).toEqual({
      code: 0,
      stdout: `${eventId} is queued for ${webhookId} of ${accountId}\n`,
      stderr: '',
    });
    expect(await outstanding()).toEqual([{ e: eventId, w: webhookId }]);
    expect(await replay(eventId, webhookId)).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: nothing changed: a delivery of ${eventId} to ${webhookId} is outstanding\n`,
    });
    expect(await database.query('select actor, action, target from audit')).toEqual([
      { actor: 'ada', action: 'event.replay', target: eventId },
    ]);
  });

  test('ends only when the wake-up of the relay is sent', async () => {
    const relay = await openClient(database.url);
    const heard: (string | undefined)[] = [];
    relay.on('notification', ({ payload }) => heard.push(payload));
    await relay.query('listen postrider_wake');
    await replay(acme.eventId, acme.webhookId);
    await relay.query('select 1'); // Postgres sends what was notified before it
    await relay.end();
    expect(heard).toEqual([acme.webhookId]);
  });

  test('ends before the wake-up fails when Postgres does not answer it', async () => {
    const proxy = await startFaultProxy(database.url);
    proxy.trap({ sees: 'postrider_wake', in: 'toServer', holds: 'toClient' });
    const env = { DATABASE_URL: proxy.url(database.url), LOG_LEVEL: 'debug' };
    const args = ['events', 'replay', acme.eventId, '--webhook', acme.webhookId];
    const { code, stderr } = await runInProcess(args, env);
    await proxy.close();
    expect(code).toBe(0);
    expect(stderr).not.toContain('postgres error'); // logged when the answer is given up, after 20 s
  });

  test('of a missing event, or to a webhook of another account, sends nothing', async () => {
    const missing = newId('event', systemClock);
    expect(await replay(missing, acme.webhookId)).toMatchObject({
      code: 1,
      stderr: `postrider: no event ${missing}\n`,
    });
    expect(await replay(acme.eventId, other.webhookId)).toMatchObject({
      code: 1,
      stderr: `postrider: no webhook ${other.webhookId} of ${acme.accountId} gets ${acme.eventId}\n`,
    });
    expect(await outstanding()).toEqual([]);
  });
});
