import { beforeEach, expect, test } from '@jest/globals';
import type { EventId, OperatorEvent } from '@postrider/domain';
import { setupStore } from '../../test/open-store.ts';
import { dropExpired } from '../retention/housekeeping.ts';
import { createOperatorEventStore, keepOperatorEvents } from './operator-events.ts';

const store = setupStore();
const events = () => createOperatorEventStore(store.db.pool);
const left = () => store.outside.query('select id from operator_events order by id');

beforeEach(() => store.outside.query('delete from operator_events'));

function eventOf(id: string): OperatorEvent {
  return { id: id as EventId, type: 'webhook.failing', body: `{"id":"${id}"}` };
}

const keep = (...ids: string[]) => keepOperatorEvents(store.db.pool, ids.map(eventOf));

test('an event is claimed by one relay, and by another when the claim has run out', async () => {
  await keep('evt_1');
  const claims = await Promise.all([events().claim(10, 60), events().claim(10, 60)]);
  expect(claims.flat()).toEqual([{ ...eventOf('evt_1'), attempts: 1 }]);
  expect(await events().claim(10, 60)).toEqual([]);
  await store.outside.query('update operator_events set due_at = now()');
  expect(await events().claim(10, 60)).toEqual([{ ...eventOf('evt_1'), attempts: 2 }]);
});

test('a claim has the given number of events, those that wait for the longest first', async () => {
  await keep('evt_1', 'evt_2', 'evt_3');
  await store.outside.query(`update operator_events set due_at = now() - interval '1 h' where id = 'evt_3'`);
  expect(await events().claim(1, 60)).toMatchObject([{ id: 'evt_3' }]);
});

test('an event is due again after its delay, and gone when it is dropped', async () => {
  await keep('evt_1', 'evt_2');
  await events().claim(10, 60);
  await events().retry('evt_1' as EventId, 0);
  expect(await events().claim(10, 60)).toMatchObject([{ id: 'evt_1' }]);
  await events().drop('evt_1' as EventId);
  expect(await left()).toEqual([{ id: 'evt_2' }]);
});

test('an event that no relay posts is deleted after two days', async () => {
  await keep('evt_1', 'evt_2');
  const age = `update operator_events set created_at = now() - make_interval(hours => $2) where id = $1`;
  await store.outside.query(age, ['evt_1', 49]);
  await store.outside.query(age, ['evt_2', 47]);
  expect(await dropExpired(store.db.pool)).toBe(1);
  expect(await left()).toEqual([{ id: 'evt_2' }]);
});
