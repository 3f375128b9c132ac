import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { EmailId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { takeHeld, takeOne } from '../../test/taken-email.ts';
import { createMailOutbox } from './mail-outbox.ts';
import type { ClaimedEmail, MailOutbox } from './mail-outbox.ts';
import { createMailWork } from './mail-work.ts';

const store = setupStore();
let rows: Rows;
let outbox: MailOutbox;

beforeAll(async () => {
  rows = createRows(store.outside);
  outbox = createMailOutbox(store.db.pool);
});
beforeEach(() => rows.clear());

async function claim(rowsMax = 100, lookAheadSeconds = 60): Promise<ClaimedEmail[]> {
  return outbox.claim({ lookAheadSeconds, rowsMax, leaseSeconds: 30 });
}

async function expireLeases(): Promise<void> {
  await store.outside.query(`update email_sends set leased_until = now() - interval '1 ms'`);
}

const idsOf = (claimed: readonly ClaimedEmail[]) => claimed.map(({ emailId }) => emailId).sort();

describe('claim', () => {
  test('leases mail due within the look-ahead once, with the delay', async () => {
    const due = await rows.email();
    const soon = await rows.email(50_000);
    await rows.email(70_000);
    const claimed = new Map((await claim()).map((email) => [email.emailId, email]));
    expect([...claimed.keys()].sort()).toEqual([due, soon].sort());
    expect(claimed.get(due)).toEqual({
      emailId: due,
      claim: 0,
      faults: 0,
      leaseExpired: false,
      wasTaken: false,
      dueInMs: 0,
    });
    expect(claimed.get(soon)?.dueInMs).toBeGreaterThan(0);
    expect(claimed.get(soon)?.dueInMs).toBeLessThanOrEqual(50_000);
    expect(await claim()).toEqual([]);
    const leases = await store.outside.query(
      `select leased_until = due_at + interval '30 s' as from_due from email_sends where email_id = $1`,
      [soon],
    );
    expect(leases).toEqual([{ from_due: true }]);
  });

  test('leases the oldest first, and no more than requested', async () => {
    const later = await rows.email(-1_000);
    const first = await rows.email(-5_000);
    expect(idsOf(await claim(1))).toEqual([first]);
    expect(idsOf(await claim(1))).toEqual([later]);
  });

  test('leases mail again whose lease expired before a take, under the same claim', async () => {
    await rows.email();
    const [first] = await claim();
    await expireLeases();
    expect(await claim()).toEqual([{ ...first, leaseExpired: true }]);
  });

  test('leases taken mail again after its lease, under the claim that the take left', async () => {
    const emailId = await rows.email();
    await claim();
    const work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
    expect(await takeOne(work, { emailId, claim: 0 })).toMatchObject({ claim: 1 });
    await expireLeases();
    expect(await claim()).toMatchObject([{ claim: 1, leaseExpired: true, wasTaken: true }]);
    const email = await takeHeld(work, { emailId, claim: 1 });
    await work.retry([{ email, delayMs: 0, attempts: 1 }]);
    await claim();
    await expireLeases(); // nobody took it after the retry
    expect(await claim()).toMatchObject([{ claim: 3, leaseExpired: true, wasTaken: false }]);
  });

  test('running at the same time shares no message and does not wait', async () => {
    const ids: EmailId[] = [];
    for (let n = 0; n < 30; n += 1) ids.push(await rows.email());
    const claims = await Promise.all(Array.from({ length: 6 }, async () => claim(10)));
    expect(claims.flat()).toHaveLength(new Set(idsOf(claims.flat())).size);
    while (claims.flat().length < 30) claims.push(await claim(10));
    expect(idsOf(claims.flat())).toEqual(ids.sort());
    await store.outside.query('update email_sends set leased_until = null');
    await inUndoneTransaction(store.db.pool, async (holder) => {
      await holder.query('select from email_sends where email_id = $1 for update', [ids[0]]);
      expect(await claim()).toHaveLength(29);
    });
  });
});

describe('release', () => {
  test('frees the messages at once, but not those that were taken since', async () => {
    await rows.email();
    const taken = await rows.email();
    const claimed = await claim();
    await store.outside.query('update email_sends set claim = claim + 1 where email_id = $1', [taken]);
    await outbox.release(claimed);
    expect(idsOf(await claim())).toEqual(idsOf(claimed).filter((id) => id !== taken));
  });
});

describe('mail that a worker releases untaken', () => {
  const work = () => createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });

  test('is free at once, and counts no fault', async () => {
    await rows.email();
    await store.outside.query('update email_sends set unrecorded = 1');
    const claimed = await claim();
    await work().release(claimed);
    expect(await claim()).toEqual(claimed.map((email) => ({ ...email, leaseExpired: true })));
  });

  test('is left alone if another worker took or retried it since', async () => {
    const [taken, retried] = [await rows.email(), await rows.email()];
    const claimed = await claim();
    await takeOne(work(), { emailId: taken, claim: 0 });
    const email = await takeHeld(work(), { emailId: retried, claim: 0 });
    await work().retry([{ email, delayMs: 600_000, attempts: 1 }]);
    const before = await store.outside.query('select * from email_sends');
    await work().release(claimed);
    expect(await store.outside.query('select * from email_sends')).toEqual(before);
  });

  test('is skipped when it is locked', async () => {
    const locked = await rows.email();
    const free = await rows.email();
    const claimed = await claim();
    await inUndoneTransaction(store.db.pool, async (holder) => {
      await holder.query('select from email_sends where email_id = $1 for update', [locked]);
      await work().release(claimed);
      expect(idsOf(await claim())).toEqual([free]);
    });
  });
});

describe('mail whose lease a worker renews', () => {
  const work = () => createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });

  test('stays with the worker that holds it, and with no other', async () => {
    const [held, lost] = [await rows.email(), await rows.email()];
    const emails = [
      await takeHeld(work(), { emailId: held, claim: 0 }),
      await takeHeld(work(), { emailId: lost, claim: 0 }),
    ];
    await expireLeases();
    expect(idsOf(await claim(1))).toEqual([held]);
    await takeHeld(work(), { emailId: held, claim: 1 });
    const before = await store.outside.query('select * from email_sends where email_id = $1', [held]);
    expect(await work().renew(emails, 600)).toEqual(new Set(emails.slice(1)));
    expect(await store.outside.query('select * from email_sends where email_id = $1', [held])).toEqual(
      before,
    );
    expect(await claim()).toEqual([]);
  });
});
