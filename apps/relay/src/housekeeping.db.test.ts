import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createHousekeeping } from '@postrider/store';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { openRelayStore } from '../test/open-relay-store.ts';
import type { RelayStore } from '../test/open-relay-store.ts';
import { housekeepingTurn } from './housekeeping.ts';

const HOUR_MS = 3_600_000;

let store: RelayStore;
let lines: LoggedLine[];

beforeAll(async () => void (store = await openRelayStore()));
afterAll(() => store.close());
beforeEach(() => void (lines = []));

test('a turn tends log and events, says what it did, and comes again in an hour', async () => {
  await store.rows.event({ ageDays: 40 });
  await store.rows.event({ ageDays: 20 });
  const turn = async () =>
    housekeepingTurn(
      createHousekeeping(store.pool),
      { eventDays: 30, attemptDays: 30 },
      keepingLogger(lines),
    );
  expect(await turn()).toBe(HOUR_MS);
  expect(lines).toEqual([
    {
      level: 'info',
      msg: 'housekeeping done',
      fields: { days_made: expect.any(Array), days_dropped: [], events_dropped: 1 },
    },
  ]);
  expect(lines[0]?.fields['days_made']).toHaveLength(8);

  expect(await turn()).toBe(HOUR_MS);
  expect(lines).toHaveLength(1); // nothing was to be done, so nothing is said
});
