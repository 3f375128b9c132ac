import { expect, test } from '@jest/globals';
import { check } from './check.ts';
import type { FaultEntry, History, Violation } from './history.ts';
import { rightHistory } from './sample-history.ts';

function violationsOf(changes: Partial<History>): readonly Violation[] {
  return check({ ...rightHistory(), ...changes }).violations;
}

/** The message is taken by a worker, and not recorded, when the fault strikes. */
function fault(mayRepeat: boolean): FaultEntry {
  const when = { atMs: 1_000_000, endedAtMs: 1_000_001 };
  return { name: 'kill -9 worker', ...when, mayRepeat, inFlight: [], mailInFlight: ['em_1'] };
}

test('a message that failed is lost, although its event says so', () => {
  const right = rightHistory();
  const emails = right.store.emails.map((email) => ({ ...email, status: 'failed' }));
  const events = right.store.events.map((event) => ({
    ...event,
    type: event.emailId === 'em_1' ? 'email.failed' : event.type,
  }));
  const { figures, violations } = check({ ...right, store: { ...right.store, emails, events } });
  expect(violations).toEqual([{ invariant: 'I1', text: 'email em_1 was given up' }]);
  expect(figures.lost).toBe(1);
});

test('a message is lost when the store says that it was sent, but the provider never got it', () => {
  expect(violationsOf({ handOvers: [] })).toEqual([
    { invariant: 'I1', text: 'the store says that email em_1 was sent, but the provider never got it' },
  ]);
});

test('a message that the provider got twice needs a fault that met it in flight and may repeat it', () => {
  const twice = { handOvers: ['em_1', 'em_1'] };
  const tooMany = [{ invariant: 'I2', text: 'email em_1 was handed over 2 times, and 1 allowed' }];
  expect(violationsOf(twice)).toEqual(tooMany);
  expect(violationsOf({ ...twice, faults: [fault(false)] })).toEqual(tooMany);
  expect(violationsOf({ ...twice, faults: [fault(true)] })).toEqual([]);
  expect(violationsOf({ handOvers: ['em_1', 'em_1', 'em_1'], faults: [fault(true)] })).toMatchObject([
    { invariant: 'I2' },
  ]);
});
