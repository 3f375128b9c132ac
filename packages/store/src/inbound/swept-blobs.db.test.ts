import { createHash, randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { openDatabase } from '../db/database.ts';
import { StoreUnavailableError } from '../db/errors.ts';
import { createPool } from '../db/pool.ts';
import { createInboxStore } from './inboxes.ts';
import { createReceivedMessageStore } from './received-message-store.ts';
import type { ReceivedMessageStore, Reception } from './received-message-store.ts';
import { createSweptBlobs, SweptBlobsError } from './swept-blobs.ts';
import type { SweptBlob, SweptBlobs } from './swept-blobs.ts';

/** Locks that make a statement of these tests wait. */
const STOP_SWEEP = 71;
const STOP_MESSAGE = 72;

const store = setupStore();
let rows: Rows;
let swept: SweptBlobs;
let intake: ReceivedMessageStore;

beforeAll(async () => {
  rows = createRows(store.outside);
  swept = createSweptBlobs(store.db);
  intake = createReceivedMessageStore(store.db, store.clock, [SHARED_DOMAIN]);
  for (const [table, key] of [
    ['swept_blobs', STOP_SWEEP],
    ['events', STOP_MESSAGE],
  ] as const) {
    await store.outside.query(
      // Without the lock timeout of the sweep, which would also end this wait.
      `create function stop_${key}() returns trigger language plpgsql set lock_timeout = 0 as
       $$ begin perform pg_advisory_xact_lock(${key}); return new; end $$`,
    );
    await store.outside.query(
      `create trigger stop before insert on ${table} for each row execute function stop_${key}()`,
    );
  }
});
beforeEach(async () => {
  await rows.clear();
  await store.outside.query('truncate swept_blobs, blob_sweeps');
  const accountId = await store.newAccount();
  const address = `a@${SHARED_DOMAIN}`;
  const rules = { sharedDomains: [SHARED_DOMAIN], reservedNames: [], perAccountMax: 9 };
  await createInboxStore(store.db, store.clock, rules).create({
    accountId,
    kind: 'live',
    address,
    name: address,
    fromName: null,
  });
});

const newBlob = () => createHash('sha256').update(randomUUID()).digest('hex');
const file = (blob: string) => ({ filename: 'a', contentType: 'a/b', contentId: null, size: 1, blob });
const sixHoursPass = () => store.outside.query(`update blob_sweeps set due_at = due_at - interval '6 hours'`);
const messages = () => store.outside.query('select id from messages');

/** A message that names the blob as its raw bytes, or as an attachment. */
async function receive(blob: string, as: 'raw' | 'attachment' = 'raw'): Promise<Reception> {
  return intake.receive(incoming(as === 'raw' ? { blob } : { blob: newBlob(), attachments: [file(blob)] }));
}

async function refusal(receiving: Promise<unknown>): Promise<SweptBlobsError> {
  const error: unknown = await receiving.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SweptBlobsError)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

async function stopping<T>(key: number, work: (goOn: () => Promise<unknown>) => Promise<T>): Promise<T> {
  return inUndoneTransaction(store.db.pool, async (session) => {
    await session.query('select pg_advisory_xact_lock($1)', [key]);
    return work(() => session.query('rollback'));
  });
}

describe('a sweep', () => {
  test('is due hours after the first process of a database asked, and starts in one process', async () => {
    const begun = () => Promise.all(Array.from({ length: 5 }, () => swept.begin()));
    expect((await begun()).filter(Boolean)).toEqual([]);
    await sixHoursPass();
    expect((await begun()).filter(Boolean)).toHaveLength(1);
    expect(await swept.begin()).toBe(false);
    await sixHoursPass();
    expect(await swept.begin()).toBe(true);
  });

  test('takes each blob once that no message and no attachment names', async () => {
    const [raw, attached, one, other] = [newBlob(), newBlob(), newBlob(), newBlob()];
    await receive(raw);
    await receive(attached, 'attachment');
    expect((await swept.take([raw, one, attached, other]))?.sort()).toEqual([one, other].sort());
    expect(await swept.take([one])).toEqual([]);
    await swept.settle([one]);
    expect(await swept.take([one])).toEqual([one]);
    expect(await swept.take([raw])).toEqual([]);
  });

  test('deletes its rows after a day', async () => {
    const [old, young] = [newBlob(), newBlob()];
    await swept.take([old, young]);
    await store.outside.query(
      `update swept_blobs set leased_until = now() - make_interval(hours => case when id = $1 then 25 else 23 end)`,
      [old],
    );
    await swept.begin();
    expect(await store.outside.query('select id from swept_blobs')).toEqual([{ id: young }]);
  });

  test('is still due when it could not delete old rows', async () => {
    await swept.begin();
    await sixHoursPass();
    await store.outside.query('alter table swept_blobs rename to away');
    await expect(swept.begin()).rejects.toThrow('swept_blobs');
    await store.outside.query('alter table away rename to swept_blobs');
    expect(await swept.begin()).toBe(true);
  });

  test.each(['settle', 'forget', 'receive'] as const)(
    'locks blobs in the order of their ids, also without an index (%s)',
    async (how) => {
      const blobs = Array.from({ length: 8 }, newBlob).sort();
      const [first = ''] = blobs;
      // The last id comes first in the table, and a sequential scan reads it first.
      await store.outside.query(
        `insert into swept_blobs (id, leased_until) select u.id, now() from unnest($1::text[]) u (id)`,
        [blobs.toReversed()],
      );
      const url = new URL(store.outside.url);
      url.searchParams.set('options', '-c enable_indexscan=off');
      const db = openDatabase(
        { databaseUrl: url.href, size: 3, applicationName: 'no-index', onError: () => undefined },
        { send: () => undefined, close: async () => undefined },
      );
      const [sweptThere, intakeThere] = [
        createSweptBlobs(db),
        createReceivedMessageStore(db, store.clock, [SHARED_DOMAIN]),
      ];
      const rest = blobs.slice(1);
      const given = blobs.toReversed();
      const leases = await store.outside.query<SweptBlob>(
        'select id, leased_until::text as "leasedUntil" from swept_blobs order by id desc',
      );
      await inUndoneTransaction(store.db.pool, async (holder) => {
        await holder.query('select from swept_blobs where id = $1 for update', [first]);
        const waiting = {
          settle: async () => sweptThere.settle(given),
          forget: async () => intakeThere.forgetSwept(leases),
          receive: async () => refusal(intakeThere.receive(incoming({ attachments: given.map(file) }))),
        }[how]();
        await untilWaitingForLock(store.outside);
        const free = await store.outside.query(
          'select id from swept_blobs where id = any ($1::text[]) for update skip locked',
          [rest],
        );
        expect(free).toHaveLength(rest.length);
        await holder.query('rollback');
        await waiting;
      });
      await db.close();
    },
  );
});

describe.each(['raw', 'attachment'] as const)('a message that names a swept blob (%s)', (as) => {
  test('is not stored while the sweep may remove the bytes', async () => {
    const blob = newBlob();
    await swept.take([blob]);
    const { isOver, blobs } = await refusal(receive(blob, as));
    expect([isOver, blobs.map(({ id }) => id)]).toEqual([false, [blob]]);
    expect(await messages()).toEqual([]);
    expect(await store.outside.query('select from inbox_threads')).toEqual([]);
  });

  test.each(['is settled', 'has lost its lease'])(
    'is stored after its bytes are stored again, once the blob %s',
    async (how) => {
      const blob = newBlob();
      await swept.take([blob]);
      if (how === 'is settled') await swept.settle([blob]);
      else await store.outside.query('update swept_blobs set leased_until = now()'); // its process was killed
      const { isOver, blobs } = await refusal(receive(blob, as));
      expect(isOver).toBe(true);
      expect(await messages()).toEqual([]);
      await intake.forgetSwept(blobs);
      expect(await receive(blob, as)).toMatchObject({ kind: 'stored', messages: [{}] });
    },
  );

  test('keeps the row of a blob that was swept again', async () => {
    const blob = newBlob();
    await swept.take([blob]);
    await swept.settle([blob]);
    const { blobs } = await refusal(receive(blob, as));
    await swept.take([blob]);
    await swept.settle([blob]);
    await intake.forgetSwept(blobs);
    await refusal(receive(blob, as));
  });
});

describe('a sweep and a message at the same time', () => {
  test('the message is stored first: the sweep sees it', async () => {
    const blob = newBlob();
    await stopping(STOP_MESSAGE, async (goOn) => {
      const receiving = receive(blob);
      await untilWaitingForLock(store.outside); // its rows are written and not committed
      expect(await swept.take([blob])).toBeNull();
      await goOn();
      expect(await receiving).toMatchObject({ kind: 'stored' });
    });
    expect(await swept.take([blob])).toEqual([]);
    expect(await messages()).toHaveLength(1);
  });

  test('the message is stored while the sweep waits for its lock: the sweep sees it', async () => {
    const blob = newBlob();
    await stopping(STOP_MESSAGE, async (goOn) => {
      const receiving = receive(blob);
      await untilWaitingForLock(store.outside);
      const taking = swept.take([blob]);
      // null: the lock timeout of 100 ms passed before the commit.
      await Promise.race([taking, untilWaitingForLock(store.outside, 2)]);
      await goOn();
      await receiving;
      expect([[], null]).toContainEqual(await taking);
    });
  });

  test('the sweep is first: the message sees it, although neither had committed', async () => {
    const blob = newBlob();
    await stopping(STOP_SWEEP, async (goOn) => {
      const taking = swept.take([blob]);
      await untilWaitingForLock(store.outside); // its row is about to be written, and no message named it
      const refused = refusal(receive(blob));
      await untilWaitingForLock(store.outside, 2);
      await goOn();
      expect(await taking).toEqual([blob]);
      expect((await refused).isOver).toBe(false);
    });
    expect(await messages()).toEqual([]);
  });

  test('in any order, many times: no message names a taken blob', async () => {
    for (let round = 0; round < 40; round += 1) {
      const blob = newBlob();
      const receiving = receive(blob).then(
        () => true,
        () => false,
      );
      const [taken, stored] = await Promise.all([swept.take([blob]), receiving]);
      expect([stored, taken?.length ?? 0]).not.toEqual([true, 1]);
    }
  });
});

test('an unreachable Postgres is a StoreUnavailableError', async () => {
  const pool = createPool({
    databaseUrl: 'postgres://nobody@127.0.0.1:9/none',
    size: 1,
    applicationName: 'away',
    durableCommits: true,
    onError: () => undefined,
  });
  const away = createSweptBlobs({ pool });
  for (const call of [away.begin(), away.take([newBlob()]), away.settle([newBlob()])]) {
    await expect(call).rejects.toThrow(StoreUnavailableError);
  }
  await pool.end();
});
