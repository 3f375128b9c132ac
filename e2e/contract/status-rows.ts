import { expect } from '@jest/globals';
import { newApiKey, newId } from '@postrider/domain';
import { createRows, publishKeys, sesError, systemClock, waitFor } from '@postrider/testing';
import type { FakeSes } from '@postrider/testing';
import { message, padded } from './fixture.ts';
import type { Answer, ContractFixture } from './fixture.ts';
import { fillInboxes, newInboxBody, newLink, replyToNewMessage, sendOneMore } from './inboxes.ts';

/**
 * The requests that get the answer of a row of contract 7.2: one, or one for each condition. In the row of
 * successes each request has its own status.
 */
export type StatusRow =
  | {
      readonly reach: (fixture: ContractFixture) => Promise<Answer | readonly Answer[]>;
      /** Requests that get the same status with a short text instead of a problem document. */
      readonly inPlainText?: (fixture: ContractFixture) => Promise<readonly Answer[]>;
    }
  | {
      readonly succeed: (
        fixture: ContractFixture,
      ) => Promise<readonly (readonly [status: number, answer: Answer])[]>;
    };

const KIB = 1024;
const MIB = 1024 * KIB;
const ENDPOINT = { endpoint: 'https://hooks.example.com' };
let made = 0;
const newDomain = () => ({ name: `shop-${(made += 1)}.example` });

/** Adds a suppression that a complaint caused. @returns its id */
async function newComplaint({ system }: ContractFixture): Promise<string> {
  const id = newId('suppression', systemClock);
  await system.db.query(
    `insert into suppressions (id, account_id, address, origin, email_id, created_at)
     values ($1, $2, 'cross@b.example', 'complaint', 'em_1', now())`,
    [id, system.accountId],
  );
  return id;
}

async function newDomainId({ call }: ContractFixture): Promise<string> {
  const { json } = await call('POST /v1/domains', { body: newDomain() });
  return String(json?.['id']);
}

/** The number of rows of an account that a refused request could have stored. */
async function rowsOf({ system }: ContractFixture, accountId: string): Promise<number> {
  const counts = ['webhooks', 'domains', 'emails', 'idempotency_keys'].map(
    (table) => `(select count(*) from ${table} where account_id = $1)`,
  );
  const [row] = await system.db.query<{ n: number }>(`select (${counts.join(' + ')})::int as n`, [accountId]);
  return row?.n ?? NaN;
}

/**
 * Sends requests with a key that has spent its limit, and a batch that is over the rest of another limit.
 * @returns the answers
 */
async function overTheLimit(fixture: ContractFixture): Promise<Answer[]> {
  const { call, newKey } = fixture;
  const accountId = await fixture.newAccount();
  const spent = await newKey({ accountId, kind: 'test', limit: 1 });
  const nearlySpent = await newKey({ accountId, kind: 'test', limit: 3 });
  for (const key of [spent, nearlySpent]) {
    expect(await call('POST /v1/emails', { key, body: message() })).toMatchObject({ status: 200 });
  }
  const headers = { 'idempotency-key': 'over' };
  const batch = [message(), message(), message()];
  const answers = [
    await call('POST /v1/emails', { key: spent, headers, body: message() }),
    await call('POST /v1/emails/batch', { key: spent, headers, body: batch }),
    await call('POST /v1/webhooks', { key: spent, body: ENDPOINT }),
    await call('POST /v1/domains', { key: spent, body: newDomain() }),
    await call('GET /v1/emails', { key: spent }),
    await call('POST /v1/emails/batch', { key: nearlySpent, headers, body: batch }),
  ];
  expect(await rowsOf(fixture, accountId)).toBe(2);
  for (const answer of answers) expect(answer.headers.has('retry-after')).toBe(false);
  return answers;
}

/**
 * Sends live mail from a domain that the account has not verified: alone, and in a batch with verified mail.
 * @returns the answers
 */
async function unverifiedSends(fixture: ContractFixture): Promise<Answer[]> {
  const { call, ses } = fixture;
  const accountId = await fixture.newAccount();
  const key = await fixture.newKey({ accountId, limit: 100 });
  const domain = newDomain();
  const { json } = await call('POST /v1/domains', { key, body: domain });
  const identity = ses.identities.get(domain.name);
  if (identity === undefined) throw new Error('the provider was not asked');
  const verified = { from: `a@${domain.name}` };
  const early = message(verified);
  const tooEarly = await call('POST /v1/emails', { key, body: early });
  publishKeys(identity);
  await call(`POST /v1/domains/${String(json?.['id'])}/verify`, { key });
  const answers = [
    await call('POST /v1/emails', { key, body: message() }),
    await call('POST /v1/emails/batch', { key, body: [message(verified), message()] }),
  ];
  expect(await rowsOf(fixture, accountId)).toBe(1);
  // The same request again, as docs/problems.md says.
  expect(await call('POST /v1/emails', { key, body: early })).toMatchObject({ status: 200 });
  return [tooEarly, ...answers];
}

type SesOperation = Parameters<FakeSes['always']>[0];

/** Adds, verifies and deletes a domain while the provider fails. @returns the answers */
async function domainFailures(fixture: ContractFixture, status: number, code: string): Promise<Answer[]> {
  const { call, ses } = fixture;
  const id = await newDomainId(fixture);
  const during = async (operation: SesOperation, line: string, body?: object): Promise<Answer> => {
    ses.always(operation, sesError(status, code, 'No.'));
    const answer = await call(line, { body });
    ses.always(operation, null);
    return answer;
  };
  return [
    await during('CreateEmailIdentity', 'POST /v1/domains', newDomain()),
    await during('GetEmailIdentity', `POST /v1/domains/${id}/verify`),
    await during('DeleteEmailIdentity', `DELETE /v1/domains/${id}`),
  ];
}

/** Sends two batches at once under one new idempotency key. */
async function race(
  { call }: ContractFixture,
  bodies: readonly [unknown, unknown],
): Promise<readonly Answer[]> {
  const headers = { 'idempotency-key': `race-${(made += 1)}` };
  return Promise.all(bodies.map(async (body) => call('POST /v1/emails/batch', { headers, body })));
}

/** Races batches. Each race has a winner. @returns the answers to the losers */
async function lostRaces(fixture: ContractFixture): Promise<Answer[]> {
  const batch = () => Array.from({ length: 100 }, () => message());
  const others = await race(fixture, [batch(), batch()]);
  expect(others.map(({ status }) => status).sort()).toEqual([200, 409]);
  const same = batch();
  const [first, second] = await race(fixture, [same, same]);
  const alike = [first, second].filter((answer) => answer?.status === 200).map((answer) => answer?.text);
  expect(new Set(alike).size).toBe(1);
  return [...others, first, second].flatMap((answer) =>
    answer === undefined || answer.status === 200 ? [] : answer,
  );
}

/** The tests of contract 7.2, by the status and the slug of its rows. */
export const STATUS_ROWS: Readonly<Record<string, StatusRow>> = {
  '200, 201, 202 -': {
    async succeed(fixture) {
      const { call } = fixture;
      const webhook = await call('POST /v1/webhooks', { body: ENDPOINT });
      return [
        [201, webhook],
        [201, await call('POST /v1/suppressions', { body: { email: 'gone@b.example' } })],
        [
          201,
          await call('POST /v1/inbound/routes', {
            body: { match: newInboxBody().email_address, ...ENDPOINT },
          }),
        ],
        [200, await call('POST /v1/inbound/blocked-senders', { body: { sender: 'spam.example' } })],
        [201, await call('POST /v1/inboxes', { body: newInboxBody() })],
        [202, await replyToNewMessage(fixture, { text: 'Thanks' })],
        [200, await call('POST /v1/topics', { body: { name: 'News', default_subscription: 'opt_in' } })],
        [200, await call('POST /v1/domains', { body: newDomain() })],
        [200, await call('POST /v1/emails', { body: message() })],
        [200, await call('POST /v1/emails/batch', { body: [message()] })],
        [200, await call('GET /v1/webhooks')],
        [200, await call(`DELETE /v1/webhooks/${String(webhook.json?.['id'])}`)],
      ];
    },
  },
  '400 validation-failed': {
    async reach(fixture) {
      const complaint = await newComplaint(fixture);
      return [
        await fixture.call('POST /v1/suppressions', { body: { email: 'nobody' } }),
        await fixture.call(`DELETE /v1/suppressions/${complaint}`),
        await fixture.call('POST /v1/topics', { body: {} }),
        await fixture.call('POST /v1/topics', { body: { name: '', default_subscription: 'opt_in' } }),
      ];
    },
  },
  '401 api-key-unauthorized': {
    async reach({ call, newKey, system }) {
      const revoked = await newKey({ limit: 100 });
      expect(await call('GET /v1/webhooks', { key: revoked })).toMatchObject({ status: 200 });
      await system.db.query('update api_keys set revoked_at = now() where digest = sha256($1::text::bytea)', [
        revoked,
      ]);
      // The API keeps a key for a second after it looked it up. `key revoke` waits for that.
      const refused = async () => (await call('GET /v1/webhooks', { key: revoked })).status === 401;
      await waitFor(refused, { what: 'the revoked key to be refused' });
      const keys = [null, 'no key', newApiKey('live'), revoked];
      const answers = await Promise.all(keys.map(async (key) => call('GET /v1/webhooks', { key })));
      expect(new Set(answers.map(({ requestId }) => requestId)).size).toBe(4);
      const alike = answers.map(({ text, requestId }) => text.replace(String(requestId), ''));
      expect(alike).toEqual(Array<string>(4).fill(alike[0] ?? ''));
      return answers;
    },
  },
  '403 api-key-forbidden': {
    reach: async ({ call, newKey }) =>
      call('GET /v1/webhooks', { key: await newKey({ scopes: ['emails:read'], limit: 100 }) }),
  },
  '403 domain-not-verified': { reach: unverifiedSends },
  '403 inbox-limit': {
    async reach(fixture) {
      const { call, newKey, newAccount } = fixture;
      const accountId = await newAccount();
      const key = await newKey({ accountId, limit: 200 });
      await fillInboxes(fixture, accountId, 100);
      return call('POST /v1/inboxes', { key, body: newInboxBody() });
    },
  },
  '403 held-needs-manage': {
    async reach({ call, newKey, newAccount, system }) {
      const accountId = await newAccount();
      const id = await createRows(system.db).message({ accountId, held: true });
      const key = await newKey({ accountId, scopes: ['inbound:read'], limit: 100 });
      expect(await call('GET /v1/inbound/messages', { key })).toMatchObject({ status: 200 });
      return [
        await call('GET /v1/inbound/messages?status=held', { key }),
        await call(`GET /v1/inbound/messages/${id}`, { key }),
        await call(`GET /v1/inbound/messages/${id}/raw`, { key }),
        await call(`GET /v1/inbound/messages/${id}/attachments`, { key }),
      ];
    },
  },
  '404 not-found': {
    reach: async ({ call }) => [
      await call('DELETE /v1/webhooks/wh_01jd0000000000000000000001'),
      await call('GET /v1/nothing', { key: null }),
      await call('PUT /v1/webhooks', { key: null }),
    ],
  },
  '404 link-expired': {
    async reach(fixture) {
      const link = await newLink(fixture);
      const open = (path: string) => fixture.call(`GET ${path}`, { key: null });
      expect(await open(link)).toMatchObject({ status: 200 });
      const altered = [`${link.slice(0, -10)}AAAAAAAAAA`, link.slice(0, -1), `${link}A`, '/links/none'];
      const answers = [];
      for (const path of altered) answers.push(await open(path));
      await fixture.system.db.query('delete from messages');
      return [...answers, await open(link)];
    },
  },
  '409 idempotency-conflict': {
    async reach(fixture) {
      const headers = { 'idempotency-key': 'once' };
      await fixture.call('POST /v1/emails', { headers, body: message() });
      return [
        await fixture.call('POST /v1/emails', { headers, body: message() }),
        ...(await lostRaces(fixture)),
      ];
    },
  },
  '409 domain-taken': {
    async reach({ call, newKey, newAccount }) {
      const body = newDomain();
      await call('POST /v1/domains', { body });
      const other = await newKey({ accountId: await newAccount(), limit: 100 });
      return [await call('POST /v1/domains', { body }), await call('POST /v1/domains', { body, key: other })];
    },
  },
  '409 inbox-exists': {
    async reach({ call, newKey, newAccount }) {
      const { email_address: address } = newInboxBody();
      await call('POST /v1/inboxes', { body: { email_address: address } });
      const key = await newKey({ accountId: await newAccount(), limit: 100 });
      const { email_address: match } = newInboxBody();
      await call('POST /v1/inbound/routes', { body: { match, ...ENDPOINT } });
      return [
        await call('POST /v1/inboxes', { key, body: { email_address: match } }),
        await call('POST /v1/inboxes', { body: { email_address: address } }),
        await call('POST /v1/inboxes', { body: { email_address: address.toUpperCase() } }),
        await call('POST /v1/inboxes', { key, body: { email_address: address.replace('@', '+tag@') } }),
      ];
    },
  },
  '409 route-exists': {
    async reach({ call, newKey, newAccount }) {
      const { email_address: match } = newInboxBody();
      const rule = (written: string) => ({ match: written, ...ENDPOINT });
      await call('POST /v1/inbound/routes', { body: rule(match) });
      const key = await newKey({ accountId: await newAccount(), limit: 100 });
      const inbox = newInboxBody();
      await call('POST /v1/inboxes', { body: inbox });
      return [
        await call('POST /v1/inbound/routes', { body: rule(match.toUpperCase()) }),
        await call('POST /v1/inbound/routes', { key, body: rule(match.replace('@', '+tag@')) }),
        await call('POST /v1/inbound/routes', { key, body: rule(inbox.email_address) }),
      ];
    },
  },
  '409 not-held': {
    async reach({ call, system }) {
      const { accountId } = system;
      const rows = createRows(system.db);
      const [held, received] = [
        await rows.message({ accountId, held: true }),
        await rows.message({ accountId }),
      ];
      const release = (id: string) => call(`POST /v1/inbound/messages/${id}/release`);
      expect(await release(held)).toMatchObject({ status: 200, json: { status: 'released' } });
      return [await release(held), await release(received)];
    },
  },
  '413 request-too-large': {
    reach: async ({ call }) => [
      await call('POST /v1/webhooks', { body: padded(ENDPOINT, 64 * KIB + 1) }),
      await call('POST /v1/domains', { body: padded(newDomain(), 64 * KIB + 1) }),
      await call('POST /v1/suppressions', { body: padded({ email: 'a@b.example' }, 64 * KIB + 1) }),
      await call('POST /v1/topics', { body: padded({ name: 'News' }, 64 * KIB + 1) }),
      await call('POST /v1/emails', { body: padded(message(), 32 * MIB + 1) }),
    ],
    inPlainText: async ({ call }) => [
      await call('POST /v1/emails', { body: padded(message(), 8 * MIB + 1) }),
    ],
  },
  '422 validation-failed': {
    reach: async ({ call }) => [
      await call('POST /v1/emails', { body: message({ to: 'nobody' }) }),
      await call('POST /v1/emails/batch', { body: [message(), message({ to: 'nobody' })] }),
      await call('POST /v1/domains', { body: { name: '192.0.2.1' } }),
      await call('POST /v1/webhooks', { body: { endpoint: 'http://hooks.example.com' } }),
      await call('POST /v1/webhooks', { body: { ...ENDPOINT, events: ['email.unknown'] } }),
    ],
  },
  '429 rate-limited': { reach: overTheLimit },
  '429 inbox-rate-limited': { reach: async (fixture) => sendOneMore(fixture, 60) },
  '429 thread-rate-limited': { reach: async (fixture) => sendOneMore(fixture, 10, { thread: true }) },
  '500 internal': {
    async reach({ call, system }) {
      await system.db.query('alter table topics rename to topics_gone');
      const answer = await call('GET /v1/topics');
      await system.db.query('alter table topics_gone rename to topics');
      return answer;
    },
  },
  '502 ses-refused': { reach: (fixture) => domainFailures(fixture, 400, 'BadRequestException') },
  '503 ses-unavailable': { reach: (fixture) => domainFailures(fixture, 503, 'ServiceUnavailable') },
  '503 ses-not-configured': {
    reach: ({ call }) => call('POST /v1/domains', { deployment: 'no region', body: newDomain() }),
  },
  '503 not-ready': {
    async reach({ call, proxy }) {
      proxy.takeAway();
      const answer = await call('GET /v1/topics', { deployment: 'no region' });
      proxy.restore();
      return answer;
    },
  },
};
