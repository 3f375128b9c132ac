import { expect } from '@jest/globals';
import {
  inboundSubject,
  isEventType,
  parseDomainName,
  parseEmailAddress,
  plainAddress,
  senderPattern,
} from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import type { TestDatabase } from '@postrider/testing';

interface WebhookRow {
  readonly id: string;
  readonly account_id: AccountId;
  readonly subject: string | null;
  readonly endpoint: string;
  readonly events: readonly string[];
  readonly sealed_bytes: number;
  /** Whose endpoint it is; null: the account's own. */
  readonly rule: string | null;
}

interface EmailRow {
  readonly id: string;
  readonly account_id: string;
  readonly kind: 'live' | 'test';
  readonly status: string;
  readonly from_address: string;
  readonly to_addresses: readonly string[];
  readonly cc_addresses: readonly string[];
  readonly bcc_addresses: readonly string[];
  readonly reply_to_addresses: readonly string[];
  readonly subject: string;
  readonly html: string | null;
  readonly text: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  /** In base64. */
  readonly files: readonly string[];
  readonly waits: boolean;
}

interface ResourceRow {
  readonly id: string;
  readonly account_id: string;
  readonly domain: string | null;
  readonly address: string | null;
}

/** How many rows were checked, and the types of all events in their alphabetical order. */
export interface StoredRows {
  readonly webhooks: number;
  readonly emails: number;
  readonly events: readonly string[];
}

/**
 * Asserts that whatever stands in the tables may stand there (contract 2, 4 and 8), and was acknowledged: an answer
 * with its id has left.
 *
 * @param acknowledged the ids of answers, with the parsed body of the request where it is known.
 */
export async function judgeStoredRows(
  database: TestDatabase,
  accounts: readonly string[],
  acknowledged: ReadonlyMap<string, unknown>,
): Promise<StoredRows> {
  const webhooks = await database.query<WebhookRow>(
    `select w.id, w.account_id, subject, endpoint, events, length(secret_sealed) as sealed_bytes, r.id as rule
     from webhooks w left join inbound_routes r on r.webhook_id = w.id`,
  );
  for (const row of webhooks) {
    judgeWebhookRow(row);
    judgeKeptWebhook(row, acknowledged.get(row.id));
  }
  const emails = await database.query<EmailRow>(
    `select e.*, s.email_id is not null as waits,
            array(select replace(encode(a.content, 'base64'), chr(10), '') from email_attachments a
                  where a.email_id = e.id order by a.position) as files
     from emails e left join email_sends s on s.email_id = e.id`,
  );
  for (const row of emails) {
    judgeEmailRow(row);
    judgeKeptEmail(row, acknowledged.get(row.id));
  }
  // Who unsubscribes is told no id.
  const others = await database.query<ResourceRow>(
    `select id, account_id, name as domain, null as address from domains
     union all select id, account_id, null, null from topics
     union all select id, account_id, null, address from suppressions where origin <> 'unsubscribe'
     union all select id, account_id, null, address from inboxes
     union all select id, account_id, null, match from inbound_routes
     union all select id, account_id, null, null from blocked_senders`,
  );
  for (const { domain, address } of others) {
    if (domain !== null) expect(parseDomainName(domain)).toEqual({ ok: true, name: domain });
    if (address !== null) expect(plainAddress(address)).toBe(address);
  }
  const senders = await database.query<{ sender: string }>('select sender from blocked_senders');
  for (const { sender } of senders) expect(senderPattern(sender)).toBe(sender);
  // Of a rule’s webhook the answer about the rule tells.
  const own = webhooks.filter(({ rule }) => rule === null);
  for (const { id, account_id } of [...own, ...emails, ...others]) {
    expect(accounts).toContain(account_id);
    if (!acknowledged.has(id)) throw new Error(`${id} is stored, and no answer said so`);
  }
  const events = await database.query<{ type: string }>('select distinct type from events order by 1');
  return { webhooks: webhooks.length, emails: emails.length, events: events.map(({ type }) => type) };
}

function judgeWebhookRow(row: WebhookRow): void {
  const { account_id: accountId, rule, endpoint, events, subject, sealed_bytes } = row;
  const url = new URL(endpoint);
  expect({ href: url.href, protocol: url.protocol, subject }).toEqual({
    href: endpoint,
    protocol: 'https:',
    subject: rule === null ? null : inboundSubject(accountId, rule),
  });
  if (rule !== null) expect(events).toContainEqual(expect.stringMatching(/^message\./));
  expect(`${url.username}${url.password}${url.hash}`).toBe('');
  expect(endpoint.length).toBeLessThanOrEqual(2_048);
  expect(events.filter((type) => !isEventType(type))).toEqual([]);
  expect(new Set(events).size).toBe(events.length);
  expect(sealed_bytes).toBeGreaterThan(49); // the secret's own length
}

function judgeEmailRow(row: EmailRow): void {
  const recipients = [...row.to_addresses, ...row.cc_addresses, ...row.bcc_addresses];
  expect(row.to_addresses.length).toBeGreaterThan(0);
  expect(recipients.length).toBeLessThanOrEqual(50);
  for (const address of [row.from_address, ...recipients]) expect(parseEmailAddress(address)).not.toBeNull();
  expect(row.subject).toMatch(/^[^\u0000-\u001f\u007f]{0,997}$/);
  expect(Buffer.byteLength(`${row.html ?? ''}${row.text ?? ''}`)).toBeLessThanOrEqual(5 * 1024 * 1024);
  for (const [name, value] of Object.entries(row.headers)) {
    expect(name).toMatch(/^[!-9;-~]{1,76}$/);
    expect(value).toMatch(/^[^\u0000-\u001f\u007f]{1,997}$/);
  }
  expect(Math.max(row.tags.length, row.files.length)).toBeLessThanOrEqual(50);
  for (const { name, value } of row.tags) expect(`${name} ${value}`).toMatch(/^[\w-]{1,256} [\w-]{1,256}$/);
  const live = row.kind === 'live';
  expect({ status: row.status, waits: row.waits }).toEqual({
    status: live ? 'queued' : 'stored',
    waits: live,
  });
}

/** What was asked for is what is stored: nothing was cut, decoded twice or mended. */
function judgeKeptWebhook(row: WebhookRow, sent: unknown): void {
  if (sent === undefined) return;
  const { endpoint, events = [] } = sent as { endpoint: string; events?: string[] };
  const url = new URL(endpoint);
  url.hash = '';
  expect({ endpoint: row.endpoint, events: row.events }).toEqual({
    endpoint: url.href,
    events: [...new Set(events)],
  });
}

const ANSWERING = { 'In-Reply-To': expect.any(String), References: expect.any(String) };

function judgeKeptEmail(row: EmailRow, sent: unknown): void {
  if (sent === undefined) return;
  const asked = sent as Readonly<Record<string, string | string[] | object | null | undefined>>;
  const list = (field: string): unknown => {
    const written = asked[field] ?? [];
    return Array.isArray(written) ? written : [written];
  };
  const { from_address: from, to_addresses: to, cc_addresses: cc, bcc_addresses: bcc, subject } = row;
  // A reply is asked without sender, recipients and headers: the message that it answers gives them.
  const { reply_to_addresses: replyTo, html, text, headers, tags, files } = row;
  const isForward = `${text ?? ''}${html ?? ''}`.includes('- Forwarded message -');
  const reply = { from, to, cc, subject: asked['subject'] ?? 'Re: Hi', headers: ANSWERING };
  // The words of a forward stand before the message.
  const forward = {
    from,
    subject: asked['subject'] ?? 'Fwd: Hi',
    headers: ANSWERING,
    text: typeof asked['text'] === 'string' ? expect.stringContaining(asked['text']) : text,
    html: typeof asked['html'] === 'string' ? expect.stringContaining(asked['html']) : html,
  };
  const given = asked['from'] === undefined ? (isForward ? forward : reply) : {};
  const { tags: askedTags, attachments } = asked as {
    tags?: EmailRow['tags'] | null;
    attachments?: { content: string }[] | null;
  };
  expect(cc).toEqual(expect.arrayContaining(list('cc') as string[]));
  expect({ from, to, cc, bcc, replyTo, subject, html, text, headers, tags, files }).toEqual({
    from: asked['from'],
    to: list('to'),
    cc: list('cc'),
    bcc: list('bcc'),
    replyTo: list('reply_to'),
    subject: asked['subject'],
    html: asked['html'] ?? null,
    text: asked['text'] ?? null,
    headers: asked['headers'] ?? {},
    ...given,
    tags: (askedTags ?? []).map(({ name, value }) => ({ name, value })),
    files: (attachments ?? []).map(({ content }) => content),
  });
}
