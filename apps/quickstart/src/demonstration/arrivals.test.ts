import { expect, test } from '@jest/globals';
import { Arrivals } from './arrivals.ts';
import type { Arrival } from './receiver.ts';

const arrivalOf = (id: string) => ({ event: { id }, receivedAtMs: 0, again: false }) as Arrival;
const hasId = (id: string) => (arrival: Arrival) => arrival.event.id === id;

test('an event is found, before or after it arrives', async () => {
  const arrivals = new Arrivals();
  arrivals.add(arrivalOf('evt_1'));
  const later = arrivals.find(hasId('evt_2'), 60_000);
  arrivals.add(arrivalOf('evt_3'));
  arrivals.add(arrivalOf('evt_2'));
  expect((await arrivals.find(hasId('evt_1'), 60_000))?.event.id).toBe('evt_1');
  expect((await later)?.event.id).toBe('evt_2');
});

test('an event that does not arrive in time is null', async () => {
  expect(await new Arrivals().find(() => true, 1)).toBeNull();
});
