import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { SesMail } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { incoming, SHARED_DOMAIN as SHARED } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { dropExpired } from '../retention/housekeeping.ts';
import { createInboxStore } from './inboxes.ts';
import { createReceivedMessageStore } from './received-message-store.ts';
import type { ReceivedMessageStore } from './received-message-store.ts';
import { createSesMailStore, createSesMailWork } from './ses-mail.ts';
import type { ClaimedSesMail, SesMailStore, SesMailWork } from './ses-mail.ts';

const MAIL: SesMail = {
  providerMessageId: 'ses-1',
  source: 'ann@shop.example',
  recipients: [`a@${SHARED}`],
  verdicts: { spamVerdict: { status: 'PASS' }, dmarcPolicy: null },
  location: { kind: 'object', bucket: 'mail-in', key: 'a/b' },
};

const store = setupStore();
let kept: SesMailStore;
let work: SesMailWork;
let intake: ReceivedMessageStore;

beforeAll(async () => {
  kept = createSesMailStore(store.db);
  work = createSesMailWork(store.db);
  intake = createReceivedMessageStore(store.db, store.clock, [SHARED]);
});
beforeEach(async () => {
  await createRows(store.outside).clear();
  await store.outside.query('truncate ses_mail, provider_notifications');
});

const claim = (rowsMax = 10) => work.claim({ rowsMax, leaseSeconds: 60 });
const expireLeases = () => store.outside.query(`update ses_mail set due_at = now() - interval '1 ms'`);

/** Stores a message and claims it. */
async function claimed(): Promise<ClaimedSesMail> {
  await kept.add('sns-1', MAIL);
  const [mail] = await claim();
  if (mail === undefined) throw new Error('nothing was claimed');
  return mail;
}

async function inbox(): Promise<void> {
  const accountId = await store.newAccount();
  const address = `a@${SHARED}`;
  const inboxes = createInboxStore(store.db, store.clock, {
    sharedDomains: [SHARED],
    reservedNames: [],
    perAccountMax: 1,
  });
  await inboxes.create({ accountId, kind: 'live', address, name: address, fromName: null });
}

const counts = async () => {
  const [row] = await store.outside.query<{ messages: number; events: number }>(
    `select (select count(*)::int from messages) as messages, (select count(*)::int from events) as events`,
  );
  return row;
};

describe('a notification', () => {
  test('is stored once', async () => {
    const added = await Promise.all(Array.from({ length: 5 }, () => kept.add('sns-1', MAIL)));
    expect(added.filter(Boolean)).toHaveLength(1);
    expect(await work.count()).toBe(1);
  });

  test('is not stored again after its mail has ended', async () => {
    await work.end(await claimed());
    expect(await kept.add('sns-1', MAIL)).toBe(false);
    expect(await claim()).toEqual([]);
  });

  test('of the same message for other recipients is stored, too', async () => {
    await kept.add('sns-1', MAIL);
    expect(await kept.add('sns-2', { ...MAIL, recipients: ['b@in.example'] })).toBe(true);
    expect(await claim()).toHaveLength(2);
  });

  test.each<SesMail>([
    MAIL,
    { ...MAIL, source: '', recipients: ['a@b.example', 'c@d.example'] },
    { ...MAIL, location: { kind: 'content', bytes: Buffer.from([0, 0xff, 13, 10]) } },
  ])('comes back as it was: %#', async (mail) => {
    await kept.add('sns-1', mail);
    expect(await claim()).toEqual([{ ...mail, notificationId: 'sns-1', claim: 1 }]);
  });

  test('that retention deletes leaves its mail', async () => {
    await kept.add('sns-1', MAIL);
    await store.outside.query(`update provider_notifications set received_at = now() - interval '30 days'`);
    await dropExpired(store.db.pool);
    expect(await claim()).toHaveLength(1);
  });
});

describe('a claim', () => {
  test('leases due mail once, the longest due first, and no more than requested', async () => {
    for (const id of ['sns-1', 'sns-2', 'sns-3']) await kept.add(id, MAIL);
    await store.outside.query(
      `update ses_mail set due_at = now() - interval '1 h' where notification_id = 'sns-2'`,
    );
    expect((await claim(1)).map(({ notificationId }) => notificationId)).toEqual(['sns-2']);
    const others = await Promise.all([claim(2), claim(2)]);
    expect(
      others
        .flat()
        .map(({ notificationId }) => notificationId)
        .sort(),
    ).toEqual(['sns-1', 'sns-3']);
    expect(await work.count()).toBe(3);
  });

  test('skips a locked row and does not wait', async () => {
    for (const id of ['sns-1', 'sns-2']) await kept.add(id, MAIL);
    await inUndoneTransaction(store.db.pool, async (holder) => {
      await holder.query(`select from ses_mail where notification_id = 'sns-1' for update`);
      expect(await claim()).toMatchObject([{ notificationId: 'sns-2' }]);
    });
  });

  test('ends with its lease: the next claim holds the message, and the old one changes nothing', async () => {
    await inbox();
    const former = await claimed();
    expect(await claim()).toEqual([]);
    await expireLeases();
    const [next] = await claim();
    expect(next).toMatchObject({ notificationId: 'sns-1', claim: 2 });
    expect(await work.end(former)).toBe(false);
    await work.defer(former, 0);
    expect(await claim()).toEqual([]);
    expect(await intake.receive(incoming(), former)).toEqual({ kind: 'stored', messages: [] });
    expect(await counts()).toEqual({ messages: 0, events: 0 });
    expect(await work.count()).toBe(1);
  });

  test('makes mail due again after the delay when it is deferred', async () => {
    await work.defer(await claimed(), 60_000);
    expect(await claim()).toEqual([]);
    const [row] = await store.outside.query(
      `select due_at > now() + interval '50 s' and due_at <= now() + interval '60 s' as later from ses_mail`,
    );
    expect(row).toEqual({ later: true });
    await expireLeases();
    const [mail] = await claim();
    await work.defer(mail as ClaimedSesMail, 0);
    expect(await claim()).toMatchObject([{ claim: 3 }]);
  });
});

describe('the transaction that stores a message', () => {
  test('ends the mail, with one event', async () => {
    await inbox();
    expect(await intake.receive(incoming(), await claimed())).toMatchObject({
      messages: [{ status: 'received' }],
    });
    expect(await counts()).toEqual({ messages: 1, events: 1 });
    expect(await work.count()).toBe(0);
  });

  test('ends the mail when no inbox or rule matches', async () => {
    expect(await intake.receive(incoming(), await claimed())).toEqual({ kind: 'nobody' });
    expect(await work.count()).toBe(0);
  });

  test('leaves the mail to its lease when it rolls back', async () => {
    await inbox();
    const mail = await claimed();
    await expect(intake.receive(incoming({ size: -1 }), mail)).rejects.toThrow(); // no event can say that
    expect(await counts()).toEqual({ messages: 0, events: 0 });
    await expireLeases();
    expect(await claim()).toMatchObject([{ notificationId: 'sns-1', claim: 2 }]);
  });

  test('does not store the same bytes of another notification again', async () => {
    await inbox();
    const message = incoming();
    await intake.receive(message, await claimed());
    await kept.add('sns-2', MAIL);
    const [again] = await claim();
    expect(await intake.receive(message, again)).toEqual({ kind: 'stored', messages: [] });
    expect(await counts()).toEqual({ messages: 1, events: 1 });
    expect(await work.count()).toBe(0);
  });
});
