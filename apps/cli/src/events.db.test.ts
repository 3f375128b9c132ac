import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, EmailId, EventId, WebhookId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { setupCli } from '../test/run-in-process.ts';

const { cli, json, database, rows } = setupCli();

const AT = '2026-03-01T12:00:00.000Z';

/** An account whose event each test looks for, and one whose event it must not find. */
let acme: Party;
let other: Party;

interface Party {
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
  readonly emailId: EmailId;
  readonly eventId: EventId;
}

beforeEach(async () => {
  acme = await makeParty('bob@b.example', 'req-1');
  other = await makeParty('eve@b.example', 'req-2');
});

/** An account with a message to the address, and a report about it that its webhook gave up. */
async function makeParty(address: string, requestId: string): Promise<Party> {
  const accountId = await rows.account();
  const webhookId = await rows.webhook({ accountId });
  await database.query(`update webhooks set created_at = '2001-01-01'`);
  const emailId = await rows.email(-1000, accountId);
  await database.query(
    `update emails set to_addresses = array[$2], request_id = $3, api_key_id = 'key_1', provider_message_id = 'ses-' || $3,
                       subject = E'Hi\\u001b[31m' where id = $1`,
    [emailId, address, requestId],
  );
  await rows.recipient(emailId, address);
  const eventId = await rows.event({ accountId, recipient: address });
  await database.query(
    `update events set type = 'email.bounced', created_at = $3, data = '{"email_id":"' || $2 || '","recipients":["' || $4 || '"]}'
     where id = $1`,
    [eventId, emailId, AT, address],
  );
  await database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer)
     values ($3::timestamptz + interval '1 s', 1, $1, $2, 1, 41, 503, 'HTTP 503', $4)`,
    [eventId, webhookId, AT, Buffer.from(`<b>\u001b[31m</b>\n${'x'.repeat(2_000)}`)],
  );
  const letter = await rows.deadLetter(webhookId, eventId);
  await database.query('update dead_letters set created_at = $2 where id = $1', [
    letter,
    '2026-03-01T12:00:02Z',
  ]);
  return { accountId, webhookId, emailId, eventId };
}

async function idsOf(...args: string[]): Promise<string[]> {
  const { data } = await json<{ data: { id: string }[] }>(...args);
  return data.map(({ id }) => id);
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
    await database.query(
      `insert into events (id, account_id, type, created_at, data)
       select 'evt_01jd' || lpad(n::text, 22, '0'), account_id, type, created_at, data
       from events, generate_series(1, 100) n where id = $1`,
      [acme.eventId],
    );
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

describe('emails', () => {
  test('find finds by each option, in every account, and shows no text', async () => {
    const { emailId, accountId } = acme;
    const keyId = newId('apiKey', systemClock);
    await database.query(
      `insert into api_keys (id, account_id, kind, scopes, digest) values ($1, $2, 'live', '{}', '\\x01')`,
      [keyId, accountId],
    );
    await database.query('update emails set api_key_id = $2 where id = $1', [emailId, keyId]);
    for (const by of [
      ['--address', 'bob@b.example'],
      ['--message-id', 'ses-req-1'],
      ['--key', keyId],
      ['--request', 'req-1'],
    ]) {
      expect(await idsOf('emails', 'find', ...by)).toEqual([emailId]);
      expect(await idsOf('emails', 'find', ...by, '--account', other.accountId)).toEqual([]);
    }
    expect(await idsOf('emails', 'find', '--domain', 'B.example')).toEqual([other.emailId, emailId]);
    const { stdout } = await cli('emails', 'find', '--request', 'req-1');
    expect(stdout.split('\n')[1]).toMatch(
      new RegExp(`^${emailId} .*Z {2}queued {2}${accountId} {2}bob@b.example {2}Hi\\\\u\\{1b\\}\\[31m$`),
    );
    expect(JSON.stringify(await json('emails', 'find', '--request', 'req-1'))).not.toContain('Hello');
    expect((await cli('emails', 'find', '--request', 'req-3')).stdout).toBe('no emails\n');
    for (const args of [[], ['--domain', 'no domain'], ['--key', 'no key']])
      expect(await cli('emails', 'find', ...args)).toMatchObject({ code: 2 });
  });

  test('show shows a message with its events', async () => {
    const { emailId, eventId } = acme;
    expect(await json('emails', 'show', emailId)).toMatchObject({
      id: emailId,
      request_id: 'req-1',
      events: [{ id: eventId, type: 'email.bounced', webhooks: [{ state: 'dead_letter' }] }],
    });
    await database.query(`update emails set suppressed_addresses = '{gone@b.example}' where id = $1`, [
      emailId,
    ]);
    const { stdout } = await cli('emails', 'show', emailId);
    expect(stdout).toContain('\nleft out, suppressed: gone@b.example\n');
    expect(stdout).toContain(`  ${AT}  email.bounced  ${eventId}  1 dead_letter\n`);
    const missing = newId('email', systemClock);
    expect(await cli('emails', 'show', missing)).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: no email ${missing}\n`,
    });
  });
});
