import { describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { setupCli } from '../test/run-in-process.ts';

const { cli, json, database, rows } = setupCli();

const find = (...args: string[]) => cli('inbound', 'find', ...args);

async function found(...args: string[]): Promise<string[]> {
  const { data } = await json<{ data: { id: string }[] }>('inbound', 'find', ...args);
  return data.map(({ id }) => id);
}

describe('inbound find', () => {
  test('finds a message by its Message-ID, even a held one', async () => {
    const held = await rows.message({ held: true });
    await rows.message();
    for (const id of [`${held}@mail.example`, `<${held}@mail.example>`]) {
      expect(await found('--message-id', id)).toEqual([held]);
    }
    const [account] = await database.query('select account_id from messages where id = $1', [held]);
    const { stdout } = await find('--message-id', `${held}@mail.example`);
    expect(stdout.split('\n')[1]).toMatch(
      new RegExp(`^${held} .* held \\(spam\\) +1000 +${String(account?.['account_id'])}$`),
    );
  });

  test('finds by sender and by recipient in any spelling and with any tag, newest first', async () => {
    const accountId = await rows.account();
    const inInbox = { accountId, inboxId: await rows.inbox({ accountId, address: 'a@in.example' }) };
    const [first, second] = [await rows.message(inInbox), await rows.message(inInbox)];
    await database.query(`update messages set created_at = now() - interval '1 hour' where id = $1`, [first]);
    await database.query(`update messages set received_for = '{A+tag@in.example}' where id = $1`, [first]);
    expect(await found('--address', 'Ann@shop.example')).toEqual([second, first]);
    expect(await found('--address', 'A@in.example')).toEqual([second, first]);
    expect(await found('--address', 'Ann <ANN@shop.example>')).toEqual([second, first]);
    expect(await found('--address', 'a+TAG@in.example')).toEqual([first]);
    expect(await found('--address', 'n@shop.example')).toEqual([]);
    expect((await find('--address', 'nobody@in.example')).stdout).toBe('no messages\n');
  });

  test('lists 100 messages, and notes that there are older ones', async () => {
    const id = await rows.message();
    const copies = (from: number, to: number) =>
      database.query(
        `insert into messages
         select (json_populate_record(m, json_build_object('id', 'msg_' || lpad(n::text, 26, '0')))).*
         from messages m, generate_series($2::int, $3::int) n where id = $1`,
        [id, from, to],
      );
    const list = async () => {
      const { stdout, stderr } = await find('--message-id', `${id}@mail.example`, '--json');
      return { listed: (JSON.parse(stdout) as { data: object[] }).data.length, stderr };
    };
    await copies(1, 99);
    expect(await list()).toEqual({ listed: 100, stderr: '' });
    await copies(100, 100);
    expect(await list()).toEqual({ listed: 100, stderr: 'postrider: there are older ones\n' });
  });

  test('shows no content of a message', async () => {
    const inboxId = await rows.inbox({ address: 'a@in.example' });
    const id = await rows.message({ inboxId, text: 'confidential', html: 'confidential' });
    const shown = await Promise.all([
      find('--address', 'a@in.example'),
      find('--address', 'a@in.example', '--json'),
    ]);
    for (const { stdout } of shown) {
      expect(stdout).toContain(id);
      expect(stdout).not.toMatch(/confidential|Subject|Ann|in\.example/);
    }
  });

  test.each([
    [[]],
    [['--message-id', 'a@b.example', '--address', 'a@in.example']],
    [['--message-id', ' ']],
    [['--address', 'nobody']],
  ])('with %j is wrong usage', async (args) => {
    expect(await find(...args)).toMatchObject({ code: 2 });
  });
});

describe('installation set postmaster', () => {
  const set = (...args: string[]) => cli('installation', 'set', 'postmaster', ...args);

  test('names the inbox that gets the mail to postmaster', async () => {
    const address = 'ops@in.example';
    const id = await rows.inbox({ address });
    expect(await set(id)).toMatchObject({
      code: 0,
      stdout: 'mail to postmaster goes to ops@in.example from now on\n',
    });
    expect(JSON.parse((await set(id, '--json')).stdout)).toEqual({ postmaster: id, email_address: address });
    expect(await database.query('select id from inboxes where postmaster')).toEqual([{ id }]);
  });

  test('fails for an inbox that does not exist, and for what is no id', async () => {
    const id = newId('inbox', systemClock);
    expect(await set(id)).toMatchObject({ code: 1, stderr: expect.stringContaining(`no inbox ${id}`) });
    expect(await set('ops@in.example')).toMatchObject({ code: 2 });
  });
});

describe('inbound show', () => {
  test('shows state, checks and addresses of a held message, and no text', async () => {
    const id = await rows.message({
      held: true,
      text: 'confidential',
      html: 'confidential',
      attachments: [{}],
    });
    await database.query(
      `update messages set subject = E'red \\x1b[31m \\u009b \\u202e', to_addresses = '{b@in.example}',
                           cc_addresses = '{c@in.example}', dkim = 'fail' where id = $1`,
      [id],
    );
    const [row] = await database.query<{ account: string }>(
      'select account_id as account from messages where id = $1',
      [id],
    );
    expect(await json('inbound', 'show', id)).toEqual({
      id,
      account: row?.account,
      kind: 'live',
      inbox_id: null,
      rule_id: null,
      thread_id: null,
      status: 'held',
      held_reason: 'spam',
      received_at: expect.stringMatching(/Z$/),
      released_at: null,
      spf: 'pass',
      dkim: 'fail',
      dmarc: 'none',
      from: 'Ann <ann@shop.example>',
      to: ['b@in.example'],
      cc: ['c@in.example'],
      received_for: ['a@in.example'],
      message_id: `${id}@mail.example`,
      subject: 'red \u001b[31m \u009b \u202e',
      size: 1000,
      attachments: [{ filename: 'a.txt', content_type: 'text/plain', size: 3 }],
    });
    const { stdout: document } = await cli('inbound', 'show', id, '--json');
    expect(document).toContain(String.raw`"subject":"red \u001b[31m \u009b \u202e"`);
    const { stdout } = await cli('inbound', 'show', id);
    expect(stdout).toContain('status: held (spam)\n');
    expect(stdout).toContain('checks: spf pass, dkim fail, dmarc none\n');
    expect(stdout).toContain('subject: red \\u{1b}[31m \\u{9b} \\u{202e}\n');
    expect(stdout).not.toMatch(/confidential|\u001b|\u202e/);
  });

  test('of a message of a deleted inbox, or of none, fails in one line', async () => {
    const inboxId = newId('inbox', systemClock);
    const gone = await rows.message({ inboxId, held: true });
    for (const id of [gone, newId('message', systemClock)]) {
      for (const verb of ['show', 'release']) {
        expect(await cli('inbound', verb, id)).toEqual({
          code: 1,
          stdout: '',
          stderr: `postrider: no message ${id}\n`,
        });
      }
    }
    expect((await cli('inbound', 'show', 'evt_1')).code).toBe(2);
  });
});

test('inbound find and inbound show name the inbox of a message, or its rule, and its release', async () => {
  const accountId = await rows.account();
  const inboxId = await rows.inbox({ accountId, address: 'a@in.example' });
  const ruleId = await rows.routingRule(accountId, '*@in.example');
  const ofInbox = await rows.message({ accountId, inboxId, held: true });
  const ofRule = await rows.message({ accountId });
  await database.query('update messages set rule_id = $2 where id = $1', [ofRule, ruleId]);
  await json('inbound', 'release', ofInbox);
  for (const [id, wanted] of [
    [ofInbox, { inbox_id: inboxId, rule_id: null, status: 'released' }],
    [ofRule, { inbox_id: null, rule_id: ruleId, status: 'received' }],
  ] as const) {
    const list = await json<{ data: object[] }>('inbound', 'find', '--message-id', `${id}@mail.example`);
    expect(list.data).toMatchObject([{ id, account: accountId, ...wanted }]);
    expect(await json('inbound', 'show', id)).toMatchObject({ id, account: accountId, ...wanted });
  }
  const { released_at: releasedAt } = await json('inbound', 'show', ofInbox);
  expect(releasedAt).toEqual(expect.stringMatching(/Z$/));
  expect((await cli('inbound', 'show', ofInbox)).stdout).toContain(`\nreleased: ${String(releasedAt)}\n`);
});

describe('inbound release', () => {
  test('releases a held message with its event, once, and says who did it', async () => {
    const accountId = await rows.account();
    const [id, other] = [
      await rows.message({ accountId, held: true }),
      await rows.message({ accountId, held: true }),
    ];
    expect(await json('inbound', 'release', id, '--as', 'ada', '--note', 'ticket 4806')).toEqual({
      id,
      account: accountId,
      status: 'released',
    });
    expect(await cli('inbound', 'release', id)).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: ${id} is not held: its status is released\n`,
    });
    const events = await database.query<{ data: string }>('select data from events');
    expect(events.map(({ data }) => (JSON.parse(data) as { id: string }).id)).toEqual([id]);
    expect(await database.query('select status from messages where id = $1', [other])).toEqual([
      { status: 'held' },
    ]);
    expect(await database.query('select actor, action, account_id, target, before, note from audit')).toEqual(
      [
        {
          actor: 'ada',
          action: 'message.release',
          account_id: accountId,
          target: id,
          before: { held_reason: 'spam' },
          note: 'ticket 4806',
        },
      ],
    );
  });
});
