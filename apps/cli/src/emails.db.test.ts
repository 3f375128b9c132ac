import { beforeEach, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { AT, makeParty } from '../test/make-party.ts';
import type { Party } from '../test/make-party.ts';
import { setupCli } from '../test/run-in-process.ts';

const { cli, json, idsOf, database, rows } = setupCli();

/** An account whose message each test looks for, and one whose message it must not find. */
let acme: Party;
let other: Party;

beforeEach(async () => {
  acme = await makeParty(database, rows, 'bob@b.example', 'req-1');
  other = await makeParty(database, rows, 'eve@b.example', 'req-2');
});

test('emails find finds by each option, in every account, and shows no text', async () => {
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

test.each(['emails', 'events'])('%s show takes an id with white space around it', async (noun) => {
  const id = noun === 'emails' ? acme.emailId : acme.eventId;
  expect(await json(noun, 'show', ` ${id}\n`)).toMatchObject({ id });
});

test('emails find shows the newest 100, and notes that there are older ones', async () => {
  const copies = (from: number, to: number) =>
    database.query(
      `insert into emails
       select (json_populate_record(e, json_build_object('id', 'em_01jd' || lpad(n::text, 22, '0')))).*
       from emails e, generate_series($2::int, $3::int) n where id = $1`,
      [acme.emailId, from, to],
    );
  const list = async () => {
    const { stdout, stderr } = await cli('emails', 'find', '--request', 'req-1', '--json');
    return { listed: (JSON.parse(stdout) as { data: object[] }).data.length, stderr };
  };
  await copies(1, 99);
  expect(await list()).toEqual({ listed: 100, stderr: '' });
  await copies(100, 100);
  expect(await list()).toEqual({ listed: 100, stderr: 'postrider: there are older ones\n' });
});

test('emails show names the recipients of each kind, the send and the fault', async () => {
  const { emailId, accountId } = acme;
  await database.query(
    `update emails set cc_addresses = '{c@b.example}', bcc_addresses = '{d@b.example}',
                       suppressed_addresses = '{d@b.example}', sent_at = $2, error = 'gone',
                       created_at = $3, tags = '[{"name":"n","value":"v"}]' where id = $1`,
    [emailId, '2026-03-01T12:00:01Z', AT],
  );
  expect(await json('emails', 'show', emailId)).toEqual({
    id: emailId,
    account: accountId,
    kind: 'live',
    state: 'queued',
    from: 'a@a.example',
    to: ['bob@b.example'],
    cc: ['c@b.example'],
    bcc: ['d@b.example'],
    suppressed: ['d@b.example'],
    subject: 'Hi\u001b[31m',
    tags: [{ name: 'n', value: 'v' }],
    attachments: [],
    error: 'gone',
    provider_message_id: 'ses-req-1',
    key_id: 'key_1',
    request_id: 'req-1',
    created_at: AT,
    sent_at: '2026-03-01T12:00:01.000Z',
    events: [expect.objectContaining({ email_id: emailId })],
  });
  const { stdout } = await cli('emails', 'show', emailId);
  expect(stdout).toContain(
    'to: bob@b.example, cc c@b.example, bcc d@b.example\nleft out, suppressed: d@b.example\n',
  );
  expect(stdout).toContain("\nsent: 2026-03-01T12:00:01.000Z\nprovider's id: ses-req-1\nerror: gone\n");
});

test('emails show shows a message with its events', async () => {
  const { emailId, eventId } = acme;
  expect(await json('emails', 'show', emailId)).toMatchObject({
    id: emailId,
    request_id: 'req-1',
    events: [{ id: eventId, type: 'email.bounced', webhooks: [{ state: 'dead_letter' }] }],
  });
  const { stdout } = await cli('emails', 'show', emailId);
  expect(stdout).toContain(`  ${AT}  email.bounced  ${eventId}  1 dead_letter\n`);
  const missing = newId('email', systemClock);
  expect(await cli('emails', 'show', missing)).toEqual({
    code: 1,
    stdout: '',
    stderr: `postrider: no email ${missing}\n`,
  });
});
