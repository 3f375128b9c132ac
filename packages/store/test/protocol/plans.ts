import fc from 'fast-check';
import type { AttemptResult, EventType } from '@postrider/domain';

/** What came of an attempt, and whether it was over for a while when it came to be recorded. */
export interface Way {
  readonly result: AttemptResult;
  readonly late: boolean;
}

/**
 * What one thread is to do. Numbers point backwards into what the run has made so far (0: the latest), because only
 * the run itself knows the ids.
 */
export type Plan =
  | {
      readonly kind: 'register';
      readonly account: number;
      readonly events: readonly EventType[];
      readonly rule: boolean;
    }
  | {
      readonly kind: 'record';
      readonly account: number;
      readonly type: EventType;
      readonly rule: boolean;
      readonly old: boolean;
    }
  | { readonly kind: 'claim'; readonly limit: number; readonly webhook: number | null }
  | { readonly kind: 'release'; readonly jobs: readonly number[] }
  | { readonly kind: 'take'; readonly jobs: readonly number[] }
  | {
      readonly kind: 'finish';
      readonly hands: readonly number[];
      /** Of the hands, in turn. */
      readonly ways: readonly Way[];
    }
  | { readonly kind: 'hold'; readonly limit: number }
  | { readonly kind: 'deliver'; readonly limit: number; readonly result: AttemptResult }
  | { readonly kind: 'delete'; readonly webhook: number; readonly foreign: boolean }
  | { readonly kind: 'replay'; readonly letter: number; readonly foreign: boolean }
  | { readonly kind: 'retention' };

/**
 * What holds threads back until all have begun. `rows`: each has seen the rows as they were, and then waits for their
 * locks. `causes`: what records an event waits with its transaction open.
 */
export type Gate = 'rows' | 'causes';

/** Threads that run at the same time. */
export interface Round {
  readonly threads: readonly Plan[];
  readonly gate: Gate | null;
}

const TYPES = ['email.sent', 'email.failed'] as const satisfies readonly EventType[];

const pick = fc.nat({ max: 7 });
const picks = fc.array(pick, { minLength: 1, maxLength: 4 });
const limit = fc.integer({ min: 1, max: 6 });
const mostlyNot = fc.nat({ max: 7 }).map((n) => n === 7);
const account = fc.nat({ max: 4 }).map((n) => (n === 4 ? 1 : 0));
const type = fc.constantFrom(...TYPES);
const gate = fc.constantFrom<(Gate | null)[]>(null, 'rows', 'causes');

const answered = (statusCode: number): AttemptResult => ({ kind: 'answered', statusCode });
export const result: fc.Arbitrary<AttemptResult> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(503, 429, 302).map(answered) },
  { weight: 2, arbitrary: fc.constantFrom(200, 204).map(answered) },
  { weight: 2, arbitrary: fc.constant(answered(410)) },
  { weight: 2, arbitrary: fc.constant<AttemptResult>({ kind: 'failed', error: 'timeout after 10000 ms' }) },
  {
    weight: 1,
    arbitrary: fc.constant<AttemptResult>({ kind: 'refused', error: 'refused address 10.0.0.5' }),
  },
);

const register = fc.record({
  kind: fc.constant('register' as const),
  account,
  events: fc.constantFrom<readonly EventType[]>([], ['email.sent']),
  rule: mostlyNot,
});
const record = fc.record({
  kind: fc.constant('record' as const),
  account,
  type,
  rule: fc.boolean(),
  old: fc.boolean(),
});
const claim = fc.record({ kind: fc.constant('claim' as const), limit, webhook: fc.option(pick) });
const release = fc.record({ kind: fc.constant('release' as const), jobs: picks });
const take = fc.record({ kind: fc.constant('take' as const), jobs: picks });
const ways = fc.array(fc.record({ result, late: fc.boolean() }), { minLength: 1, maxLength: 3 });
const finish = fc.record({ kind: fc.constant('finish' as const), hands: picks, ways });
const hold = fc.record({ kind: fc.constant('hold' as const), limit });
const deliver = fc.record({ kind: fc.constant('deliver' as const), limit, result });
const remove = fc.record({ kind: fc.constant('delete' as const), webhook: pick, foreign: mostlyNot });
const replay = fc.record({ kind: fc.constant('replay' as const), letter: pick, foreign: mostlyNot });
const retention = fc.constant<Plan>({ kind: 'retention' });

/** One of the store's operations, as often as a run needs it. */
export const plan: fc.Arbitrary<Plan> = fc.oneof(
  { weight: 3, arbitrary: record },
  { weight: 4, arbitrary: claim },
  { weight: 4, arbitrary: take },
  { weight: 5, arbitrary: finish },
  { weight: 2, arbitrary: hold },
  { weight: 2, arbitrary: deliver },
  { weight: 3, arbitrary: replay },
  { weight: 1, arbitrary: release },
  { weight: 1, arbitrary: register },
  { weight: 1, arbitrary: remove },
  { weight: 1, arbitrary: retention },
);

const several = <P extends Plan>(one: fc.Arbitrary<P>) => fc.array(one, { minLength: 2, maxLength: 3 });
const repeated = <P>(one: P, times: number): P[] => Array.from({ length: times }, () => one);
const oneOf = (...plans: fc.Arbitrary<Plan>[]): fc.Arbitrary<Plan> => fc.oneof(...plans);

/** The same letter, replayed by several, while its webhook goes or retention comes by. */
const replays: fc.Arbitrary<readonly Plan[]> = fc
  .tuple(pick, fc.integer({ min: 1, max: 3 }), oneOf(remove, retention, deliver, replay))
  .map(([letter, times, other]) => [
    ...repeated<Plan>({ kind: 'replay', letter, foreign: false }, times),
    other,
  ]);

/** Threads that meet on the same rows. */
const meeting: fc.Arbitrary<readonly Plan[]> = fc.oneof(
  several(plan),
  several(oneOf(claim, hold, deliver, release)),
  // The same jobs, doubled, for several workers.
  fc
    .tuple(picks, fc.integer({ min: 2, max: 3 }))
    .map(([jobs, times]) => repeated<Plan>({ kind: 'take', jobs }, times)),
  // The same hands, finished in several ways, while others claim or take.
  fc
    .tuple(picks, fc.array(ways, { minLength: 1, maxLength: 2 }), oneOf(take, deliver, claim, remove))
    .map(([hands, each, other]) => [
      ...each.map((how): Plan => ({ kind: 'finish', hands, ways: how })),
      other,
    ]),
  replays,
  fc
    .tuple(remove, several(oneOf(record, finish, take, replay, deliver)))
    .map(([first, rest]): Plan[] => [first, ...rest]),
);

export const alone: fc.Arbitrary<Round> = plan.map((one) => ({ threads: [one], gate: null }));
export const together: fc.Arbitrary<Round> = fc.record({ threads: meeting, gate });

/** What happens between rounds. */
export interface Pause {
  readonly ticks: number;
}

/** A copy of the database is made, or takes its place: what was written since is lost, and workers do not know it. */
export interface Turn {
  readonly history: 'copied' | 'restored';
}

/** Rounds, pauses and turns of history, one after the other. */
export type Story = readonly (Round | Pause | Turn)[];

export const turn: fc.Arbitrary<Turn> = fc
  .constantFrom<Turn['history'][]>('copied', 'restored')
  .map((history) => ({ history }));

export const pause: fc.Arbitrary<Pause> = fc
  .oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 4 }) },
    { weight: 1, arbitrary: fc.constantFrom(8, 16, 32, 64) },
  )
  .map((ticks) => ({ ticks }));

const by = (one: Plan): Round => ({ threads: [one], gate: null });

/** A worker stalls with what it holds until another has it as well; then both come to an end, in one batch or not. */
const stalled: fc.Arbitrary<Story> = fc
  .tuple(hold, hold, fc.array(finish, { minLength: 1, maxLength: 2 }), gate)
  .map(([first, second, threads, shut]) => [by(first), { ticks: 1 }, by(second), { threads, gate: shut }]);

/** A lease has run out and the next job is on its way when the worker comes to an end after all. */
const contested: fc.Arbitrary<Story> = fc
  .tuple(hold, take, finish, fc.boolean())
  .map(([first, job, end, takeFirst]) => [
    ...[by(first), { ticks: 1 }, by({ kind: 'claim', limit: 6, webhook: null })],
    { threads: takeFirst ? [job, end] : [end, job], gate: 'rows' },
  ]);

/** An endpoint fails, time and again. */
const failing: fc.Arbitrary<Story> = fc
  .tuple(deliver, fc.integer({ min: 2, max: 8 }))
  .map(([one, times]) => repeated<Story>([by(one), { ticks: 64 }], times).flat());

/** A first attempt fails, and the queue hands the second out before it is due. */
const early: fc.Arbitrary<Story> = fc
  .tuple(record, picks)
  .map(([event, jobs]) => [
    by(event),
    by({ kind: 'deliver', limit: 6, result: answered(503) }),
    by({ kind: 'claim', limit: 6, webhook: null }),
    by({ kind: 'take', jobs }),
  ]);

/** An endpoint wants no more, and its dead letters are replayed. */
const replayed: fc.Arbitrary<Story> = fc
  .tuple(limit, replays, gate)
  .map(([one, threads, shut]) => [
    by({ kind: 'deliver', limit: one, result: answered(410) }),
    { threads, gate: shut },
  ]);

/** History is lost under workers, and goes on like the lost one did; then they come to their ends. */
const rewound: fc.Arbitrary<Story> = fc
  .tuple(record, hold, fc.array(finish, { minLength: 1, maxLength: 2 }), fc.boolean())
  .map(([event, first, threads, takeAgain]) => [
    ...[{ history: 'copied' } as const, by(event), by(first), { history: 'restored' } as const, by(event)],
    ...(takeAgain ? [by(first)] : []),
    { threads, gate: null },
  ]);

/** Rounds that make sense one after the other, and would seldom come so by chance. */
export const story: fc.Arbitrary<Story> = fc.oneof(stalled, contested, failing, early, replayed, rewound);
