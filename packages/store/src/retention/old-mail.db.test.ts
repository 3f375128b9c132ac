import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, EmailId } from '@postrider/domain';
import { draftOf } from '../../test/draft.ts';
import { accepted } from '../../test/mail-outcomes.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { takeHeld, takeOne } from '../../test/taken-email.ts';
import { createEmailStore } from '../mail/emails.ts';
import { createMailWork } from '../mail/mail-work.ts';
import { dropMailContents, dropOldMail } from './old-mail.ts';

const store = setupStore();
let accountId: AccountId;

beforeEach(async () => {
  await store.outside.query('truncate accounts, events, deliveries cascade');
  accountId = await store.newAccount();
});

const ATTACHMENT = { filename: 'a.txt', content: 'aGVsbG8=', contentType: 'text/plain', contentId: null };

interface Wish {
  readonly ageDays: number;
  readonly kind?: 'live' | 'test';
  readonly handedOver?: boolean;
  readonly idempotencyKey?: string;
}

/** A message with both bodies and an attachment. */
async function mail({ ageDays, kind = 'live', handedOver = true, idempotencyKey }: Wish): Promise<EmailId> {
  const drafts = [draftOf({ html: '<p>Hi</p>', text: 'Hi', attachments: [ATTACHMENT] })];
  const idempotency =
    idempotencyKey === undefined ? null : { route: 'r', key: idempotencyKey, digest: Buffer.from('d') };
  const sent = await createEmailStore(store.db, store.clock).send({
    accountId,
    kind,
    drafts,
    domains: [],
    idempotency,
  });
  if (sent.kind !== 'stored') throw new Error(sent.kind);
  const id = sent.ids[0] as EmailId;
  if (kind === 'live' && handedOver) await sendToProvider(id);
  await store.outside.query(
    `update emails set created_at = now() - make_interval(days => $2) where id = $1`,
    [id, ageDays],
  );
  return id;
}

async function sendToProvider(id: EmailId): Promise<void> {
  const work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
  const taken = await takeHeld(work, { emailId: id, claim: 0 });
  expect(
    await work.recordAlone(taken, accepted({ providerMessageId: 'p-1', notifications: [] })),
  ).not.toBeNull();
}

async function contentsOf(id: EmailId) {
  const [row] = await store.outside.query<{ html: string | null; text: string | null; files: number }>(
    `select html, text, (select count(*)::int from email_attachments where email_id = e.id) as files
     from emails e where id = $1`,
    [id],
  );
  return row;
}

const FULL = { html: '<p>Hi</p>', text: 'Hi', files: 1 };
const EMPTY = { html: null, text: null, files: 0 };

describe('the contents of mail', () => {
  test('go when they are past their days, and the line of the message stays as it was', async () => {
    const [old, young, stored] = [
      await mail({ ageDays: 31 }),
      await mail({ ageDays: 29 }),
      await mail({ ageDays: 31, kind: 'test' }),
    ];
    const emails = createEmailStore(store.db, store.clock);
    const before = await emails.find({ accountId, kind: 'live' }, old);
    expect(await dropMailContents(store.db.pool, 30)).toBe(2);
    expect([await contentsOf(old), await contentsOf(young), await contentsOf(stored)]).toEqual([
      EMPTY,
      FULL,
      EMPTY,
    ]);
    expect(await emails.find({ accountId, kind: 'live' }, old)).toEqual({
      ...before,
      html: null,
      text: null,
    });
    expect(await dropMailContents(store.db.pool, 30)).toBe(0);
  });

  test('go in as many steps as it takes, messages of one moment among them', async () => {
    await store.outside.query(
      `insert into emails (id, account_id, kind, status, from_address, to_addresses, cc_addresses, bcc_addresses,
                           reply_to_addresses, subject, text, headers, last_event, created_at)
       select 'em_' || n, $1, 'live', 'sent', 'a@a.example', '{b@b.example}', '{}', '{}', '{}', 'Hi', 'Hello', '{}',
              'sent', now() - interval '40 days' + make_interval(secs => n / 30)
       from generate_series(1, 150) n`,
      [accountId],
    );
    expect(await dropMailContents(store.db.pool, 30)).toBe(150);
  });

  test('stay while the message is to be handed over, and it is handed over whole', async () => {
    const waiting = await mail({ ageDays: 400, handedOver: false });
    expect(await dropMailContents(store.db.pool, 30)).toBe(0);
    expect(await dropOldMail(store.db.pool, 365)).toBe(0);
    const work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
    const taken = await takeOne(work, { emailId: waiting, claim: 0 });
    expect(taken?.draft).toMatchObject({ html: '<p>Hi</p>', text: 'Hi' });
    expect(taken?.attachments.map(({ content }) => content.toString())).toEqual(['hello']);
    expect(await dropMailContents(store.db.pool, 30)).toBe(0); // in a worker's hands
    expect(await contentsOf(waiting)).toEqual(FULL);
  });

  test('of a message that somebody holds are left for the next time', async () => {
    const held = await mail({ ageDays: 31 });
    const free = await mail({ ageDays: 31 });
    await inUndoneTransaction(store.db.pool, async (report) => {
      await report.query('select from emails where id = $1 for no key update', [held]);
      expect(await dropMailContents(store.db.pool, 30)).toBe(1);
      expect(await contentsOf(free)).toEqual(EMPTY);
    });
    expect(await dropMailContents(store.db.pool, 30)).toBe(1);
  });
});

describe('old mail', () => {
  test('goes with its attachments past its days, and younger mail stays', async () => {
    const [old, young] = [await mail({ ageDays: 366 }), await mail({ ageDays: 364 })];
    expect(await dropOldMail(store.db.pool, 365)).toBe(1);
    expect(await contentsOf(old)).toBeUndefined();
    expect(await contentsOf(young)).toEqual(FULL);
    expect(await store.outside.query('select from email_attachments')).toHaveLength(1);
  });

  test('leaves the answer that is remembered for a repetition', async () => {
    const id = await mail({ ageDays: 366, idempotencyKey: 'k' });
    expect(await dropOldMail(store.db.pool, 365)).toBe(1);
    const again = await createEmailStore(store.db, store.clock).send({
      accountId,
      kind: 'live',
      drafts: [draftOf()],
      domains: [],
      idempotency: { route: 'r', key: 'k', digest: Buffer.from('d') },
    });
    expect(again).toEqual({ kind: 'repeated', ids: [id], skipped: [] });
  });
});
