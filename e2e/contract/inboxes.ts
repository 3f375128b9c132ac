import { randomUUID } from 'node:crypto';
import type { AccountId, MessageId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { message, SHARED_DOMAIN } from './fixture.ts';
import type { Answer, ContractFixture } from './fixture.ts';

/** The body of a request for an inbox on a new address. */
export function newInboxBody(): { email_address: string } {
  return { email_address: `${randomUUID()}@${SHARED_DOMAIN}` };
}

/** Gives the account this many live inboxes. */
export async function fillInboxes(
  { system }: ContractFixture,
  accountId: AccountId,
  count: number,
): Promise<void> {
  await system.db.query(
    `insert into inboxes (id, account_id, kind, address, name, created_at, updated_at)
     select 'ibx_' || gen_random_uuid(), $1, 'live', gen_random_uuid() || '@' || $2, 'Test', now(), now()
     from generate_series(1, $3::int)`,
    [accountId, SHARED_DOMAIN, count],
  );
}

/** Stores a received message of the system's account, with its raw bytes. @returns its id */
export async function newReceivedMessage({ blobs, system }: ContractFixture): Promise<MessageId> {
  const blob = await blobs.put(Buffer.from('Subject: Hi\r\n\r\nHello\r\n'));
  return createRows(system.db).message({ accountId: system.accountId, blob });
}

/** The path of a new link to the raw bytes of a new message. */
export async function newLink(fixture: ContractFixture): Promise<string> {
  const id = await newReceivedMessage(fixture);
  const { json } = await fixture.call(`GET /v1/inbound/messages/${id}/raw`);
  return new URL(String(json?.['download_url'])).pathname;
}

/** An inbox on a verified domain of an account of its own, with a live key for both. */
interface LiveInbox {
  readonly key: string;
  readonly id: string;
  readonly address: string;
  readonly domain: string;
}

async function newLiveInbox({ call, system, newKey, newAccount }: ContractFixture): Promise<LiveInbox> {
  const accountId = await newAccount();
  const key = await newKey({ accountId, limit: 1_000 });
  const domain = `${randomUUID()}.example`;
  await createRows(system.db).domain(accountId, domain);
  const address = `agent@${domain}`;
  const { json } = await call('POST /v1/inboxes', { key, body: { email_address: address } });
  return { key, id: String(json?.['id']), address, domain };
}

/**
 * Sends a live message from an inbox that has sent `sent` before, all in one thread or each in its own.
 * @returns the answer
 */
export async function sendOneMore(
  fixture: ContractFixture,
  sent: number,
  { thread = false } = {},
): Promise<Answer> {
  const { key, address: from, domain } = await newLiveInbox(fixture);
  const first = await fixture.call('POST /v1/emails', { key, body: message({ from }) });
  const headers = thread ? { 'In-Reply-To': `<${String(first.json?.['id'])}@${domain}>` } : {};
  const more = Array.from({ length: sent - 1 }, () => message({ from, headers }));
  const { status, text } = await fixture.call('POST /v1/emails/batch', { key, body: more });
  if (status !== 200) throw new Error(`mail within the limits was answered ${status}: ${text}`);
  return fixture.call('POST /v1/emails', { key, body: message({ from, headers }) });
}

/** Replies to a message that has just come in. @returns the answer of the API */
export async function replyToNewMessage(fixture: ContractFixture, body: object): Promise<Answer> {
  const { key, id, address } = await newLiveInbox(fixture);
  await receiveInto(fixture, address);
  const newest = async (path: string): Promise<string> => {
    const { json } = await fixture.call(`GET ${path}`, { key });
    const [entry] = json?.['data'] as { id: string }[];
    return `${path}/${String(entry?.id)}`;
  };
  const thread = await newest(`/v1/inboxes/${id}/threads`);
  const email = await newest(`${thread}/emails`);
  return fixture.call(`POST ${email}/reply`, { key, body });
}

async function receiveInto(fixture: ContractFixture, to: string): Promise<void> {
  const code = await fixture.receive({ from: 'ann@shop.example', to, subject: 'Hi', text: 'Hello' });
  if (code !== 250) throw new Error(`mail to an inbox was answered ${code}`);
}

/** Sends mail of this many bytes to a new inbox. @returns the SMTP code of the answer */
export async function receiveOfSize(fixture: ContractFixture, bytes: number): Promise<number> {
  const { address: to } = await newLiveInbox(fixture);
  const header = 'From: ann@shop.example\r\nSubject: Hi\r\n\r\n';
  const body = `${'x'.repeat(76)}\r\n`.repeat(Math.ceil(bytes / 78));
  const raw = `${header}${body}`.slice(0, bytes - 2);
  return fixture.receive({ envelope: { from: 'ann@shop.example', to }, raw: `${raw}\r\n` });
}
