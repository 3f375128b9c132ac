import { expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { readEventMoment } from './event-moment.ts';

const AT = new Date('2026-02-01T00:00:00.123Z');

const store = setupStore();

// The other case, a Postgres that keeps them, is that of `npm start` and stands in its end-to-end test.
test('is the event’s own time where Postgres keeps no commit times', async () => {
  const eventId = await createRows(store.outside).event();
  await store.outside.query('update events set created_at = $2 where id = $1', [eventId, AT]);
  expect(await readEventMoment(store.db.pool, eventId)).toEqual({ atMs: AT.getTime(), isCommitTime: false });
});

test('of an event that is not there is null', async () => {
  expect(await readEventMoment(store.db.pool, newId('event', store.clock))).toBeNull();
});
