import { describe, expect, test } from '@jest/globals';
import { check } from './check.ts';
import type { FaultEntry, History, StoreState, Violation } from './history.ts';
import { attempt, FAILING, QUICK, receipt, rightHistory } from './sample-history.ts';

const QUICK_KEY = `evt_1 ${QUICK}` as const;
const FAILING_KEY = `evt_1 ${FAILING}` as const;
const { receipts, store, webhooks, causes } = rightHistory();

function violationsOf(changes: Partial<History>, inStore: Partial<StoreState> = {}): readonly Violation[] {
  const right = rightHistory();
  return check({ ...right, ...changes, store: { ...right.store, ...inStore } }).violations;
}

function killedAt(atMs: number, key: FaultEntry['inFlight'][number]): FaultEntry {
  const at = 1_000_000 + atMs;
  const times = { atMs: at, endedAtMs: at + 1 };
  return { name: 'kill -9 worker', ...times, mayRepeat: true, inFlight: [key], mailInFlight: [] };
}

const without = <T>(items: readonly T[], index: number): T[] => items.filter((_, at) => at !== index);

test('a history in which everything is right has no violation', () => {
  expect(violationsOf({})).toEqual([]);
});

test('the figures count what happened', () => {
  expect(check(rightHistory()).figures).toEqual({
    events: 2,
    deliveries: 2,
    requests: 3,
    faults: 1,
    lost: 0,
    deadLetters: 0,
    duplicates: 0,
    inFlightAtFaults: 0,
    causesWithoutEvents: 0,
    eventsWithoutCauses: 0,
    recoveryMs: 10,
  });
});

describe('I1, nothing is lost', () => {
  test('an event that reached one of two endpoints is lost for the other', () => {
    const found = violationsOf({ receipts: receipts.slice(1) }, { attempts: without(store.attempts, 0) });
    expect(found).toEqual([{ invariant: 'I1', key: QUICK_KEY, text: 'is lost' }]);
  });

  test('a delivery that is still outstanding at the end has not ended', () => {
    const found = violationsOf(
      { receipts: receipts.slice(1) },
      { attempts: without(store.attempts, 0), deliveries: [{ eventId: 'evt_1', webhookId: QUICK }] },
    );
    expect(found).toEqual([{ invariant: 'I1', key: QUICK_KEY, text: 'is still outstanding at the end' }]);
  });

  test('a delivery that is recorded as done and arrived nowhere is lost', () => {
    const found = violationsOf({ receipts: receipts.slice(1) });
    expect(found).toContainEqual({
      invariant: 'I1',
      key: QUICK_KEY,
      text: 'is done by the log, but no endpoint said so',
    });
  });

  test('a delivery that is dead-lettered because its address was refused, though it may be reached, is lost', () => {
    const letter = { eventId: 'evt_1', webhookId: QUICK, lastError: 'refused address 127.0.0.1 (loopback)' };
    const changes = { receipts: receipts.slice(1) };
    const inStore = { attempts: without(store.attempts, 0), deadLetters: [letter] };
    expect(violationsOf(changes, inStore)).toMatchObject([{ invariant: 'I1', key: QUICK_KEY }]);
    const foreign = webhooks.map((webhook) => ({ ...webhook, foreign: true }));
    expect(violationsOf({ ...changes, webhooks: foreign }, inStore)).toEqual([]);
  });

  const SCHEDULE = [1, 2, 3].map((number) => attempt(QUICK, number, number * 200, null));
  const givenUp = (attempts: StoreState['attempts'], mayGiveUp: boolean): readonly Violation[] =>
    violationsOf(
      { receipts: receipts.slice(1), webhooks: webhooks.map((webhook) => ({ ...webhook, mayGiveUp })) },
      {
        attempts: [...attempts, ...store.attempts.slice(1)],
        deadLetters: [{ eventId: 'evt_1', webhookId: QUICK, lastError: 'timeout' }],
      },
    );

  test('a dead letter is a loss, unless deliveries to its endpoint may be given up', () => {
    const lost = { invariant: 'I1', key: QUICK_KEY, text: 'was given up: timeout' };
    expect(givenUp(SCHEDULE, false)).toEqual([lost]);
    expect(givenUp([], false)).toContainEqual(lost);
    expect(givenUp(SCHEDULE, true)).toEqual([]);
  });

  test('a dead letter without an attempt is found at every endpoint', () => {
    expect(givenUp([], true)).toMatchObject([{ invariant: 'I5', key: QUICK_KEY }]);
  });

  test('what a deleted webhook, another account or another type has no right to is not missed', () => {
    const gone = { removed: { beganAtMs: 1_000_000, endedAtMs: 1_000_001 } };
    for (const change of [
      gone,
      { accountId: 'acct_9' },
      { types: ['email.failed'] },
      { createdAtMs: 2_000_000 },
    ]) {
      const changed = webhooks.map((webhook) =>
        webhook.webhookId === QUICK ? { ...webhook, ...change } : webhook,
      );
      const found = violationsOf(
        { webhooks: changed, receipts: receipts.slice(1) },
        { attempts: without(store.attempts, 0) },
      );
      expect(found).toEqual([]);
    }
  });
});

describe('with a copy of Postgres restored', () => {
  const restored = (losesSinceMs: number, endedAtMs: number): Partial<History> => ({
    faults: [{ ...killedAt(0, QUICK_KEY), inFlight: [], atMs: losesSinceMs, endedAtMs, losesSinceMs }],
  });

  test('a request of the time that was lost counts for nothing: what it was for may be made again', () => {
    const again = [receipt(QUICK, 2, 200), ...receipts];
    expect(violationsOf({ ...restored(1_000_001, 1_000_005), receipts: again })).toEqual([]);
    expect(violationsOf({ ...restored(1_000_003, 1_000_005), receipts: again })).not.toEqual([]);
    expect(violationsOf(restored(1_000_001, 1_000_020))).toContainEqual({
      invariant: 'I1',
      key: QUICK_KEY,
      text: 'is done by the log, but no endpoint said so',
    });
  });

  test('a cause of that time may be gone, any other may not', () => {
    const gone = { emails: [], events: store.events.slice(0, 1) };
    expect(violationsOf(restored(0, 5), gone)).toEqual([]);
    expect(violationsOf(restored(2, 5), gone)).toMatchObject([{ invariant: 'I3' }]);
  });
});

describe('I2, no request is made twice', () => {
  const twice = [...receipts, receipt(QUICK, 12, 200)];

  test('a duplicate without a fault is one too many', () => {
    expect(violationsOf({ receipts: twice })).toMatchObject([{ invariant: 'I2', key: QUICK_KEY }]);
  });

  test('a duplicate of what was in flight at a fault that may repeat it is excused, a second one is not', () => {
    const faults = [killedAt(11, QUICK_KEY)];
    expect(violationsOf({ receipts: twice, faults })).toEqual([]);
    const thrice = [...twice, receipt(QUICK, 13, 200)];
    expect(violationsOf({ receipts: thrice, faults })).toMatchObject([{ invariant: 'I2', key: QUICK_KEY }]);
  });

  test('a request in flight at the start of the fault is excused, although it arrived during the fault', () => {
    const again = [...receipts, receipt(QUICK, 40, 200)]; // after the answer to the first, at 10, was sent
    const struck = { ...killedAt(9, QUICK_KEY), endedAtMs: 1_000_011 };
    expect(violationsOf({ receipts: again, faults: [struck] })).toEqual([]);
    const overBefore = { ...struck, endedAtMs: 1_000_009.5 };
    expect(violationsOf({ receipts: again, faults: [overBefore] })).toMatchObject([
      { invariant: 'I5', key: QUICK_KEY },
    ]);
  });

  test('neither another delivery in flight nor a fault that may not repeat is an excuse', () => {
    const other = [killedAt(11, FAILING_KEY)];
    const harmless = [{ ...killedAt(11, QUICK_KEY), mayRepeat: false }];
    for (const faults of [other, harmless]) {
      expect(violationsOf({ receipts: twice, faults })).toMatchObject([{ invariant: 'I2', key: QUICK_KEY }]);
    }
  });
});

describe('I3, causes and events', () => {
  test('a cause without its event is found and counted', () => {
    const right = rightHistory();
    const causesMore = [...store.causes, { id: 'cause_9', eventId: 'evt_9' }];
    const { figures, violations } = check({ ...right, store: { ...store, causes: causesMore } });
    expect(figures.causesWithoutEvents).toBe(1);
    expect(violations).toEqual([{ invariant: 'I3', text: 'cause cause_9 has no event evt_9' }]);
  });

  test('an event without its cause is found and counted', () => {
    const right = rightHistory();
    const { figures, violations } = check({
      ...right,
      causes: causes.slice(1),
      store: { ...store, causes: [] },
    });
    expect(figures.eventsWithoutCauses).toBe(1);
    expect(violations).toMatchObject([{ invariant: 'I3' }]);
  });

  test.each([
    ['no event', (events: StoreState['events']) => events.slice(0, 1)],
    ['two events', (events: StoreState['events']) => [...events, { ...events[1], id: 'evt_3' }]],
    [
      'the event of a failure',
      (events: StoreState['events']) => [events[0], { ...events[1], type: 'email.failed' }],
    ],
  ])('a message that was sent and has %s is found', (_, change) => {
    const events = change(store.events) as StoreState['events'];
    expect(violationsOf({}, { events })).toMatchObject([{ invariant: 'I3' }]);
  });

  test('a message that is still queued at the end is found, its event being there or not', () => {
    const emails = store.emails.map((email) => ({ ...email, status: 'queued' }));
    expect(violationsOf({}, { emails })).toMatchObject([{ invariant: 'I3' }]);
  });

  test('what was acknowledged and is not there is found; what was left unknown may be there or not', () => {
    const emails: StoreState['emails'] = [];
    const events = store.events.slice(0, 1);
    expect(violationsOf({}, { emails, events })).toMatchObject([{ invariant: 'I3' }]);
    const unknown = causes.map((entry) => ({ ...entry, outcome: 'unknown' as const }));
    expect(violationsOf({ causes: unknown }, { emails, events })).toEqual([]);
    expect(violationsOf({ causes: unknown })).toEqual([]);
  });

  test('what was refused or rolled back and is there all the same is found', () => {
    const failed = causes.map((entry) => ({ ...entry, outcome: 'failed' as const }));
    expect(violationsOf({ causes: failed })).toMatchObject([{ invariant: 'I3' }, { invariant: 'I3' }]);
  });

  test('a message that one request stored twice is found', () => {
    const again = { id: 'em_2', subject: 'subject 1', status: 'sent' };
    const events = [
      ...store.events,
      { ...store.events[1], id: 'evt_3', emailId: 'em_2' },
    ] as StoreState['events'];
    const found = violationsOf({ handOvers: ['em_1', 'em_2'] }, { emails: [...store.emails, again], events });
    expect(found).toMatchObject([{ invariant: 'I3' }]);
  });
});

describe('I4, the schedule', () => {
  test('a retry before its time is found, by both logs', () => {
    const early = [receipts[0], receipts[1], receipt(FAILING, 60, 200)] as History['receipts'];
    const attempts = [
      store.attempts[0],
      store.attempts[1],
      attempt(FAILING, 2, 60, 200),
    ] as StoreState['attempts'];
    const found = violationsOf({ receipts: early }, { attempts });
    expect(found.map(({ invariant, key }) => [invariant, key])).toEqual([
      ['I4', FAILING_KEY],
      ['I4', FAILING_KEY],
    ]);
    expect(violationsOf({ receipts: early })).toMatchObject(
      [{ invariant: 'I4', text: /arrived/ }].map(textOnly),
    );
    expect(violationsOf({}, { attempts })).toMatchObject([{ invariant: 'I4', text: /began/ }].map(textOnly));
  });

  describe('with a step of the clock of Postgres between two attempts', () => {
    const early = [receipts[0], receipts[1], receipt(FAILING, 60, 200)] as History['receipts'];
    const attempts = [
      store.attempts[0],
      store.attempts[1],
      attempt(FAILING, 2, 60, 200),
    ] as StoreState['attempts'];
    const found = (atMs: number, clockStepMs: number): string[] => {
      const step = { ...killedAt(atMs, QUICK_KEY), mayRepeat: false, clockStepMs };
      return violationsOf({ receipts: early, faults: [step] }, { attempts }).map(
        ({ invariant, key, text }) => `${invariant} ${key} ${text}`,
      );
    };

    test('a retry may come early by as much as that was forwards, and no more', () => {
      expect(found(30, 60)).toEqual([]);
      expect(found(30, 40)).toEqual([
        expect.stringMatching(`^I4 ${FAILING_KEY} attempt 2 began 1?[0-9] ms early`),
        expect.stringMatching(`^I4 ${FAILING_KEY} request 2 arrived 1?[0-9] ms early`),
      ]);
    });

    test.each([
      ['a step back', 30, -60],
      ['a step before the first', 5, 60],
      ['a step after the second', 90, 60],
    ])('%s explains nothing', (_, atMs, stepMs) => {
      expect(found(atMs, stepMs)).toHaveLength(2);
    });
  });

  test('more attempts than the schedule has are found', () => {
    const times = [10, 130, 250, 370];
    const found = violationsOf(
      {
        receipts: [
          receipts[0] as never,
          ...times.map((at, index) => receipt(FAILING, at, index === 3 ? 200 : 503)),
        ],
      },
      {
        attempts: [
          store.attempts[0] as never,
          ...times.map((at, index) => attempt(FAILING, index + 1, at, index === 3 ? 200 : 503)),
        ],
      },
    );
    expect(found).toMatchObject([{ invariant: 'I4', key: FAILING_KEY, text: '4 attempts in a set' }]);
  });

  test('an attempt whose number was given twice, or left out, is found', () => {
    const attempts = store.attempts.map((row) => (row.attempt === 2 ? { ...row, attempt: 3 } : row));
    expect(violationsOf({}, { attempts })).toMatchObject([{ invariant: 'I4', key: FAILING_KEY }]);
  });
});

describe('I5, the end is the end', () => {
  test('an attempt after a 2xx is found, by both logs', () => {
    const found = violationsOf(
      { receipts: [...receipts, receipt(QUICK, 140, 200)] },
      { attempts: [...store.attempts, attempt(QUICK, 2, 140, 200)] },
    );
    expect(found.map(({ invariant, key }) => [invariant, key])).toEqual([
      ['I5', QUICK_KEY],
      ['I5', QUICK_KEY],
    ]);
  });

  test('a retry after a 2xx that came too late for its attempt is right, and its time counts from the attempt', () => {
    const tooLate = { ...receipt(FAILING, 10, 200), answeredAtMs: 1_000_400 };
    const late = [receipts[0], tooLate, receipt(FAILING, 320, 200)] as History['receipts'];
    const attempts = [
      store.attempts[0],
      { ...attempt(FAILING, 1, 10, null), durationMs: 200 },
      attempt(FAILING, 2, 320, 200),
    ] as StoreState['attempts'];
    expect(violationsOf({ receipts: late }, { attempts })).toEqual([]);
  });

  test('a request that was given up and read afterwards is its own attempt’s, by the time of its signature', () => {
    const readLate = { ...receipt(FAILING, 1_250, 200), signedAt: 1_000 };
    const late = [receipts[0], readLate, receipt(FAILING, 2_320, 200)] as History['receipts'];
    const attempts = [
      store.attempts[0],
      { ...attempt(FAILING, 1, 10, null), durationMs: 900 },
      attempt(FAILING, 2, 2_320, 200),
    ] as StoreState['attempts'];
    expect(violationsOf({ receipts: late }, { attempts })).toEqual([]);
    const later = late.map((one) => (one === readLate ? { ...readLate, signedAt: 1_001 } : one));
    expect(violationsOf({ receipts: later }, { attempts })).toMatchObject([
      { invariant: 'I5', key: FAILING_KEY },
    ]);
  });

  test('a second set of attempts needs a replay', () => {
    const changes = {
      receipts: [receipt(QUICK, 10, 410), receipt(QUICK, 500, 200), ...receipts.slice(1)],
    };
    const attempts = [
      attempt(QUICK, 1, 10, 410),
      { ...attempt(QUICK, 1, 500, 200), deliveryId: 'replayed' },
      ...store.attempts.slice(1),
    ];
    expect(violationsOf(changes, { attempts }).map(({ invariant }) => invariant)).toEqual(['I5', 'I5']);
    expect(violationsOf({ ...changes, replays: [QUICK_KEY] }, { attempts })).toEqual([]);
  });

  test('an answer in the log that no endpoint gave is found', () => {
    const attempts = [...store.attempts, attempt(QUICK, 2, 140, 503)];
    expect(violationsOf({}, { attempts }).map(({ text }) => text)).toContain(
      '2 answers are recorded, 1 requests arrived',
    );
  });

  test('a request for a deleted webhook is found, unless it could have been claimed before', () => {
    const removed = { beganAtMs: 1_000_000, endedAtMs: 1_000_005 };
    const changed = webhooks.map((webhook) => ({ ...webhook, removed }));
    expect(violationsOf({ webhooks: changed })).toEqual([]);
    const late = [...receipts, receipt(QUICK, 1_500, 200)];
    const found = violationsOf({ webhooks: changed, receipts: late });
    expect(found.map(({ invariant, key }) => [invariant, key])).toContainEqual(['I5', QUICK_KEY]);
  });

  test('a dead letter before the last attempt, without a 410, is found', () => {
    const letter = { eventId: 'evt_1', webhookId: FAILING, lastError: 'HTTP 503' };
    const found = violationsOf(
      {
        receipts: receipts.slice(0, 2),
        webhooks: webhooks.map((webhook) => ({ ...webhook, mayGiveUp: true })),
      },
      { attempts: store.attempts.slice(0, 2), deadLetters: [letter] },
    );
    expect(found).toMatchObject([{ invariant: 'I5', key: FAILING_KEY }]);
  });
});

describe('I6, the contents', () => {
  const changed = (change: Partial<History['receipts'][number]>): History['receipts'] =>
    receipts.map((one, at) => (at === 2 ? { ...one, ...change } : one));

  test.each([
    ['other bytes on a retry', { bodySha256: 'other' }],
    ['a signature that does not match', { signature: 'no-match' }],
    ['the body of another event', { bodyEventId: 'evt_9' }],
    ['the signature of an earlier attempt', { signedAt: 900 }],
    ['a signature from the future', { signedAt: 1_100 }],
  ])('%s is found', (_, change) => {
    expect(violationsOf({ receipts: changed(change) })).toMatchObject([
      { invariant: 'I6', key: FAILING_KEY },
    ]);
  });
});

test('I7: a connection to a canary is found', () => {
  expect(violationsOf({ canaryConnections: 1 })).toMatchObject([{ invariant: 'I7' }]);
});

describe('I8, healthy neighbours', () => {
  test('a wait of more than so many times the quiet phase’s is found', () => {
    const neighbours = [{ quietMs: [1, 5, 3], troubledMs: [20, 51, 30] }];
    expect(violationsOf({ neighbours })).toEqual([
      {
        invariant: 'I8',
        text: 'healthy endpoints waited 51 ms (p99 of 3) beside the trouble, 5 ms (of 3) before it',
      },
    ]);
  });

  test('one event of a thousand may wait longer', () => {
    const troubledMs = [...Array.from({ length: 999 }, () => 50), 5_000];
    expect(violationsOf({ neighbours: [{ quietMs: [5], troubledMs }] })).toEqual([]);
  });

  test.each([
    ['before the trouble', { quietMs: [], troubledMs: [1] }],
    ['beside it', { quietMs: [1], troubledMs: [] }],
  ])('a comparison without an event %s shows nothing, and is found', (_, times) => {
    expect(violationsOf({ neighbours: [times] })).toMatchObject([{ invariant: 'I8' }]);
  });
});

test('I9: what grows over its bound is found', () => {
  const use = [
    { what: 'memory of a worker', unit: 'MiB', most: 200.1, max: 200 },
    { what: 'connections to Postgres', unit: 'connections', most: 10, max: 20 },
  ] as const;
  expect(violationsOf({ use })).toEqual([{ invariant: 'I9', text: 'memory of a worker: 201 MiB, over 200' }]);
});

test.each([[null], [1_001]])('I10: a recovery of %p ms is found', (recoveryMs) => {
  expect(violationsOf({ recoveryMs })).toMatchObject([{ invariant: 'I10' }]);
  expect(violationsOf({ recoveryMs, faults: [] })).toEqual([]);
});

function textOnly({ invariant, text }: { invariant: string; text: RegExp }): object {
  return { invariant, text: expect.stringMatching(text) };
}
