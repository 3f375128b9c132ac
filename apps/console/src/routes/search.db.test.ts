import { beforeEach, expect, test } from '@jest/globals';
import { HttpVisitor, textOf } from '../../test/http-visitor.ts';
import { makeOutage, RECIPIENT } from '../../test/outage.ts';
import type { Outage } from '../../test/outage.ts';
import { KEYS, setupConsole } from '../../test/start-console.ts';

const opened = setupConsole();
let outage: Outage;
let ada: HttpVisitor;
beforeEach(async () => {
  await opened.rows.clear();
  outage = await makeOutage(opened.database, opened.rows);
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

const show = (path: string) => ada.show(path);

test('an id leads to its page, also in capitals and quotes', async () => {
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

test('an id without a page is not found, with its time; a dead letter was replayed or dropped', async () => {
  const letter = await ada.get('/search?q=dl_01kjpx1b50pb7tmnhrrahq69x0');
  expect(letter.status).toBe(404);
  expect(textOf(letter.text)).toContain(
    'No dead letter has the id dl_01kjpx1b50pb7tmnhrrahq69x0 . The id is',
  );
  expect(textOf(letter.text)).toContain('Postrider keeps dead letters for 90 days.');
  expect(letter.text).toContain('<a href="/audit">the audit</a>');
  const thread = await ada.get('/search?q=thr_01kjpx1b50pb7tmnhrrahq69x0');
  expect(thread.status).toBe(404);
  expect(textOf(thread.text)).toContain('No page has the id thr_01kjpx1b50pb7tmnhrrahq69x0 . The id is from');
});

test('the id of a sending domain leads to the domains of its account', async () => {
  const id = 'dom_01kjpx1b50pb7tmnhrrahq69x0';
  const missing = await ada.get(`/search?q=${id}`);
  expect([missing.status, textOf(missing.text).includes(`No domain has the id ${id}`)]).toEqual([404, true]);
  await opened.database.query(
    `insert into domains (id, account_id, name, region, status, records, created_at)
     values ($1, $2, 'shop.example.com', 'eu', 'verified', '[]', now())`,
    [id, outage.accountId],
  );
  expect(await ada.get(`/search?q=${id}`)).toMatchObject({
    status: 303,
    location: `/accounts/${outage.accountId}#domains`,
  });
});

test('the overview names the prefixes of the ids that lead somewhere', async () => {
  const named = [...(await show('/')).matchAll(/<span class="mono">(\w+)_</g)].map(([, prefix]) => prefix);
  const leading: string[] = [];
  for (const prefix of 'acct key wh evt dl rec em msg dom top sup ibx thr rt bs att'.split(' ')) {
    const { text } = await ada.get(`/search?q=${prefix}_01kjpx1b50pb7tmnhrrahq69x0`);
    if (!text.includes('No page has the id')) leading.push(prefix);
  }
  expect(named.toSorted()).toEqual(leading.toSorted());
});

test.each([
  ['', 'From an account with “all mail”, an email to this address alone ends as email.failed .'],
  [
    'top_01kjpx1b50pb7tmnhrrahq69x0',
    'Mail of a suppressed topic leaves this address out. Other mail of its account is sent.',
  ],
])('a suppression of topic %j says which mail it stops', async (topicId, words) => {
  await opened.database.query(
    `insert into suppressions (id, account_id, address, topic_id, origin, created_at) values ('sup_1', $1, $2, $3, 'manual', now())`,
    [outage.accountId, RECIPIENT, topicId],
  );
  const note = textOf(await show(`/search?q=${RECIPIENT}`));
  expect(note).toContain(words);
  expect(note.includes('email.failed')).toBe(topicId === '');
});

test('a suppressed address has the command that lifts its suppression, and the topic by name', async () => {
  const id = 'sup_01kjpx1b50pb7tmnhrrahq69x0';
  const topic = 'top_01kjpx1b50pb7tmnhrrahq69x0';
  const quoted = "o'hara@example.net";
  await opened.database.query(
    `insert into topics (id, account_id, name, default_subscription, created_at) values ($1, $2, 'Offers', 'opt_in', now())`,
    [topic, outage.accountId],
  );
  const suppress = async (topicId: string, origin: string) => {
    await opened.database.query('delete from suppressions');
    await opened.database.query(
      `insert into suppressions (id, account_id, address, topic_id, origin, created_at)
       values ($1, $2, $3, $4, $5::suppression_origin, now())`,
      [id, outage.accountId, quoted, topicId, origin],
    );
    const { location } = await ada.get(`/search?q=${id}`);
    return textOf(await show(location?.split('#')[0] ?? ''));
  };
  const command = `suppressions remove --account ${outage.accountId} --address 'o'\\''hara@example.net'`;
  const manual = await suppress('', 'manual');
  expect(manual).toContain(`An operator lifts it: postrider ${command}`);
  expect(manual).not.toContain('--reason');
  expect(await suppress('', 'complaint')).toContain(`${command} --reason …`);
  const words = await suppress(topic, 'unsubscribe');
  expect(words).toContain(`topic Offers ${topic} , origin unsubscribe`);
  expect(words).toContain(`Only the account can lift it: DELETE /v1/suppressions/${id}`);
  expect(words).not.toContain('suppressions remove');
  expect(words).toContain(`postrider account erase ${outage.accountId} --address 'o'\\''hara@example.net'`);
});

test('the id of a suppression leads to the address in its account alone', async () => {
  const ids = ['sup_01kjpx1b50pb7tmnhrrahq69x0', 'sup_01kjpx1b50pb7tmnhrrahq69x1'];
  await opened.database.query(
    `insert into suppressions (id, account_id, address, topic_id, origin, created_at)
     values ($1, $3, $5, '', 'manual', now()), ($2, $4, $5, '', 'manual', now())`,
    [...ids, outage.accountId, await opened.rows.account(), RECIPIENT],
  );
  const { location } = await ada.get(`/search?q=${ids[0]}`);
  const found = textOf(await show(location?.split('#')[0] ?? ''));
  expect(found.match(/--account acct_\w+/g)).toEqual([`--account ${outage.accountId}`]);
});

test('suppressions of all mail and of a topic, of two accounts, each say which mail they stop', async () => {
  await opened.database.query(
    `insert into suppressions (id, account_id, address, topic_id, origin, created_at)
     values ('sup_1', $1, $3, '', 'manual', now()), ('sup_2', $2, $3, 'top_01kjpx1b50pb7tmnhrrahq69x0', 'manual', now())`,
    [outage.accountId, await opened.rows.account(), RECIPIENT],
  );
  const note = textOf(await show(`/search?q=${RECIPIENT}`));
  expect(note).toContain('to this address alone ends as email.failed . Other emails leave the address out.');
  expect(note).toContain('Mail of a suppressed topic leaves this address out.');
});

test('a key leads to the mail that it sent and its account, or without mail to the keys of its account', async () => {
  const id = 'key_01jd0000000000000000000001';
  const path = `/search?q=${id}`;
  expect(await show(path)).toContain('No results');
  await opened.database.query(
    `insert into api_keys (id, account_id, kind, scopes, digest) values ($1, $2, 'live', '{}', '\\x01')`,
    [id, outage.accountId],
  );
  expect((await ada.get(path)).location).toBe(`/accounts/${outage.accountId}#keys`);
  await opened.database.query('update emails set api_key_id = $2 where id = $1', [outage.emailId, id]);
  const page = await show(path);
  expect(page).toContain(`/emails/${outage.emailId}`);
  expect(page).toContain(`/accounts/${outage.accountId}`);
});

test('an address leads to its mail, sent and received, and not that of others', async () => {
  const other = await opened.rows.email();
  const words = await show(`/search?q=${RECIPIENT}`);
  expect(words).toContain(`/emails/${outage.emailId}`);
  expect(words).toContain(`/events/${outage.eventId}`);
  expect(words).toContain(`/messages/${outage.messageId}`);
  expect(words).not.toContain(other);
});

test('a search shows the subject of received mail, or says that it has none', async () => {
  await opened.rows.message({ accountId: outage.accountId });
  await opened.database.query(`update messages set from_address = $2, subject = ' ' where id <> $1`, [
    outage.messageId,
    RECIPIENT,
  ]);
  const words = textOf(await show(`/search?q=${RECIPIENT}`));
  expect(words).toContain(`Re: Your order from ${RECIPIENT}`);
  expect(words).toContain(`no subject from ${RECIPIENT}`);
});

test('a domain with one mail leads to the mail, unless an endpoint or an account has the domain', async () => {
  const hasHost = async (host: string) =>
    opened.database.query(`update webhooks set endpoint = 'https://' || $2 || '/in' where id = $1`, [
      outage.failing,
      host,
    ]);
  expect((await ada.get('/search?q=example.net')).location).toBe(`/emails/${outage.emailId}`);
  await hasHost('example.net');
  const page = await show('/search?q=example.net');
  expect(page).toContain(`/webhooks/${outage.failing}`);
  expect(page).toContain(`/emails/${outage.emailId}`);
  await hasHost('example.org');
  await opened.database.query(
    `insert into domains (id, account_id, name, region, status, records, created_at)
     values ('dom_00000000000000000000000001', $1, 'example.net', 'eu-west-1', 'verified', '[]', now())`,
    [outage.accountId],
  );
  expect(await show('/search?q=example.net')).toContain(`/accounts/${outage.accountId}`);
});

test('a search for an address that several accounts have mail of can be narrowed to one', async () => {
  const account = `/search?q=${encodeURIComponent(RECIPIENT)}&amp;account=`;
  expect(await show(`/search?q=${RECIPIENT}`)).not.toContain(account);
  const other = await opened.rows.message();
  const [row] = await opened.database.query<{ owner: string }>(
    `update messages set from_address = $2, subject = 'Hello' where id = $1 returning account_id as owner`,
    [other, RECIPIENT],
  );
  const all = await show(`/search?q=${RECIPIENT}`);
  expect(textOf(all)).toContain('All accounts 3 Meadow Shop 2 Test 1');
  expect(all).toContain(other);
  for (const owner of [outage.accountId, row?.owner ?? '']) {
    expect(all).toContain(`${account}${owner}`);
    const narrowed = await show(`/search?q=${RECIPIENT}&account=${owner}`);
    expect(textOf(narrowed)).toContain('All accounts 3 Meadow Shop 2 Test 1');
    expect(narrowed.includes(`/messages/${other}`)).toBe(owner === row?.owner);
    expect(narrowed.includes(`/emails/${outage.emailId}`)).toBe(owner === outage.accountId);
    expect(narrowed.includes(`/messages/${outage.messageId}`)).toBe(owner === outage.accountId);
  }
});

test('a search counts all mail, lists the newest 25, and has a tab for the 20 accounts with the most', async () => {
  await opened.database.query(
    `insert into accounts (id, name)
     select 'acct_00000000000000000000000a' || lpad(n::text, 2, '0'), 'Shop ' || n from generate_series(1, 22) n`,
  );
  await opened.database.query(
    `insert into messages
     select (json_populate_record(m, json_build_object('id', 'msg_' || lpad(n::text, 26, '0'),
       'account_id', 'acct_00000000000000000000000a' || lpad(least(22, n)::text, 2, '0')))).*
     from messages m, generate_series(1, 30) n where m.id = $1`,
    [outage.messageId],
  );
  const path = `/search?q=${RECIPIENT}`;
  const page = await show(path);
  const words = textOf(page);
  expect(words).toContain('1 email, 31 messages.');
  expect(words).toContain('Received newest 25 of 31');
  expect(words).toContain('All accounts 32 Shop 22 9 Meadow Shop 2 ');
  expect(words).toContain('And 3 accounts with fewer');
  expect(page.match(/&amp;account=/g)).toHaveLength(20);
  const own = textOf(await show(`${path}&account=acct_00000000000000000000000a22`));
  expect(own).toContain(' 9 messages.');
  expect(own).toContain('Received 9, newest first');
});

test('a search in an account that has nothing leads to the search in all', async () => {
  const other = await opened.rows.account();
  const page = await show(`/search?q=${RECIPIENT}&account=${other}`);
  expect(page).toContain('No results for');
  expect(page).toContain(`href="/search?q=${encodeURIComponent(RECIPIENT)}">Search in all`);
  expect((await ada.get(`/search?q=${RECIPIENT}&account=Meadow`)).status).toBe(400);
});

test('an address that nobody knows leads to its domain', async () => {
  expect(await show('/search?q=jnae@example.net')).toContain('href="/search?q=example.net"');
});

test('a search that finds nothing shows the text as text', async () => {
  const page = await show(`/search?q=${encodeURIComponent('<script>x')}`);
  expect(page).toContain('No results for');
  expect(page).not.toContain('<script>x');
  expect((await ada.get('/search?q=')).status).toBe(400);
});
