import type { AttemptResult } from '@postrider/domain';
import type { Plan, Round, Story, Way } from './plans.ts';

const FAILED: AttemptResult = { kind: 'failed', error: 'timeout after 10000 ms' };
const REFUSED: AttemptResult = { kind: 'refused', error: 'refused address 10.0.0.5' };
const answered = (statusCode: number): AttemptResult => ({ kind: 'answered', statusCode });
const way = (result: AttemptResult, late = false): Way => ({ result, late });

const alone = (plan: Plan): Round => ({ threads: [plan], gate: null });
const meet = (...threads: Plan[]): Round => ({ threads, gate: 'rows' });

export const record = { kind: 'record', account: 0, type: 'email.sent', rule: true, old: true } as const;
const claim = { kind: 'claim', limit: 6, webhook: null } as const;
const hold = alone({ kind: 'hold', limit: 6 });
const take: Plan = { kind: 'take', jobs: [2, 1, 0] };
const remove = { kind: 'delete', webhook: 0, foreign: false } as const;
const deliver = (result: AttemptResult): Round => alone({ kind: 'deliver', limit: 6, result });
const replay = (letter: number) => ({ kind: 'replay', letter, foreign: false }) as const;
const finish = (...ways: Way[]): Plan => ({ kind: 'finish', hands: [2, 1, 0], ways });
const repeated = (story: Story, times: number): Story => Array.from({ length: times }, () => story).flat();

const COPIED = { history: 'copied' } as const;
const RESTORED = { history: 'restored' } as const;

/** Three webhooks that want the event, and one of another account. So that the first command has something to do. */
export const BEGINNING: Story = [
  {
    threads: [
      { kind: 'register', account: 1, events: [], rule: false },
      { kind: 'register', account: 0, events: [], rule: true },
      { kind: 'register', account: 0, events: ['email.sent'], rule: false },
      { kind: 'register', account: 0, events: [], rule: false },
    ],
    gate: null,
  },
  alone(record),
  COPIED,
];

/** Leaves jobs of a history that was lost. Rows that are recorded next get their ids. */
export const LOST_JOBS: Story = [alone(record), alone(claim), RESTORED, alone(claim)];

/** A worker stalls until another has what it holds; then both end, in one batch, each with an answer of its own. */
const inOneBatch = (late: Way, held: Way): Story => [
  ...[hold, { ticks: 1 }, hold],
  alone({ kind: 'finish', hands: [5, 2, 4, 1, 3, 0], ways: [late, held] }),
];

/** A lease has run out and the next job is on its way when the worker comes to an end after all. */
const contested = (end: Way): Story => [
  ...[hold, { ticks: 1 }, alone(claim), meet(take, finish(end)), alone(record)],
  ...[hold, { ticks: 1 }, alone(claim), meet(finish(end), take)],
];

/** One delivery's end is recorded twice. */
const twice = (first: Way, second: Way): Story => [hold, meet(finish(first), finish(second)), alone(record)];

const THREE_LETTERS = deliver(answered(410));

/** The races that matter, each by name; what they leave behind is brought to its end afterwards. */
export const STORIES: Readonly<Record<string, Story>> = {
  'jobs that come early, doubled and after their worker is gone': [
    ...[deliver(answered(503)), alone(claim), alone(take), alone(take), meet(take, take)],
    ...[{ ticks: 1 }, alone(claim), meet(take, take, take), { ticks: 64 }, alone(claim), alone(take)],
  ],
  'eight failures, and retention once nothing needs the event': [
    alone({ ...record, old: false }),
    ...repeated([deliver(FAILED), { ticks: 64 }], 8),
    alone({ kind: 'retention' }),
    ...[alone(replay(0)), deliver(REFUSED), alone({ kind: 'retention' })],
  ],
  'two ends in one batch, both retries': inOneBatch(way(answered(500), true), way(FAILED)),
  'two ends in one batch, both good': inOneBatch(way(answered(200)), way(answered(204))),
  'two ends in one batch, both for good': inOneBatch(way(REFUSED), way(answered(410))),
  'a take meets a good end': contested(way(answered(200))),
  'a take meets a failed end': contested(way(answered(503))),
  'a take meets a dead end': contested(way(answered(410))),
  'an end recorded twice': [
    ...twice(way(answered(200)), way(answered(200))),
    ...twice(way(answered(503)), way(answered(503))),
    ...twice(way(answered(410)), way(answered(410))),
    ...twice(way(answered(200)), way(answered(503))),
    ...twice(way(answered(503)), way(answered(200))),
    ...twice(way(answered(503)), way(answered(410))),
    ...twice(way(answered(410)), way(answered(503))),
  ],
  'ends of a history that was lost': [
    ...[COPIED, alone(record), hold, RESTORED, alone(record), hold],
    alone({ kind: 'finish', hands: [6, 7, 8, 9, 10, 11], ways: [way(answered(200)), way(answered(410))] }),
    ...[RESTORED, alone(record), hold],
    alone({ kind: 'finish', hands: [6, 7, 8, 9, 10, 11], ways: [way(answered(503))] }),
  ],
  'a delivery held from the lost history and from this one': [
    ...[alone(claim), hold, RESTORED, alone(claim), alone(take), RESTORED, alone(claim), alone(take)],
    alone({ kind: 'finish', hands: [0, 1, 2, 3, 4, 5], ways: [way(answered(503))] }),
  ],
  'relays that claim the same': [
    // No lock can hold a claim up, so that only chance lets one look before another has leased.
    ...repeated([{ threads: [claim, claim, claim, claim, claim], gate: null }, { ticks: 1 }], 12),
    ...[alone(claim), meet({ kind: 'release', jobs: [0, 1, 2] }, claim), alone(take)],
  ],
  'a webhook at its concurrency limit': [
    ...[alone(record), alone(record), alone({ ...claim, limit: 2 }), alone({ ...claim, limit: 2 })],
    ...[alone({ ...claim, limit: 3 }), alone(take), alone({ ...claim, limit: 3 })],
  ],
  'what belongs to another account': [
    ...[THREE_LETTERS, alone({ ...replay(0), foreign: true }), alone({ ...remove, foreign: true })],
    alone({ ...record, account: 1 }),
  ],
  'one letter replayed by several': [
    ...[THREE_LETTERS, meet(replay(0), replay(0), replay(0)), meet(replay(1), replay(1))],
    { threads: [replay(2), replay(2)], gate: null },
  ],
  'a replay meets retention': repeated(
    [
      THREE_LETTERS,
      meet({ kind: 'retention' }, replay(0)),
      THREE_LETTERS,
      meet(replay(0), { kind: 'retention' }),
    ],
    4,
  ),
  'a DELETE before a replay': [THREE_LETTERS, ...[0, 1, 2].flatMap((n) => [meet(remove, replay(n))])],
  'a DELETE after a replay': [THREE_LETTERS, ...[0, 1, 2].flatMap((n) => [meet(replay(n), remove)])],
  'a DELETE beside everything': [
    { threads: [record, remove, remove], gate: 'causes' },
    ...[meet(record, remove), meet(remove, record)],
    ...[hold, meet(remove, finish(way(answered(410)))), alone(record)],
    ...[hold, meet(finish(way(answered(410))), { kind: 'delete', webhook: 1, foreign: false })],
    ...[alone(claim), meet(take, { kind: 'delete', webhook: 2, foreign: false })],
  ],
};
