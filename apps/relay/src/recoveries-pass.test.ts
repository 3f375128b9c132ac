import { beforeEach, expect, test } from '@jest/globals';
import type { AccountId, RecoveryId, WebhookId } from '@postrider/domain';
import type { RecoveryWork } from '@postrider/store';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { RecoveriesPass } from './recoveries-pass.ts';

type NextRecovery = Awaited<ReturnType<RecoveryWork['next']>>[number];
type RecoveryStep = Awaited<ReturnType<RecoveryWork['step']>>;

/** What a step found, by recovery. An error: the step fails. */
let steps: Map<string, RecoveryStep | Error>;
let next: NextRecovery[];
let outstanding: Map<string, number>;
let nowMs: number;
/** The steps that were done, with the events that they might queue. */
let done: [id: string, eventsMax: number][];
let putOff: string[];
let counted: string[];
/** The accounts whose count fails. */
let uncounted: Set<string>;
let woken: string[];
let lines: LoggedLine[];
let pass: RecoveriesPass;

beforeEach(() => {
  [steps, outstanding, nowMs] = [new Map<string, never>(), new Map<string, number>(), 0];
  [next, done, putOff, counted, woken, lines] = [[], [], [], [], [], []];
  uncounted = new Set();
  pass = new RecoveriesPass({
    work: {
      next: async (max) => next.slice(0, max),
      step: async (id, eventsMax) => {
        done.push([id, eventsMax]);
        const step = steps.get(id) ?? null;
        if (step instanceof Error) throw step;
        return step;
      },
      putOff: async (id) => void putOff.push(id),
    },
    outstandingOf: async (accountId) => {
      counted.push(accountId);
      if (uncounted.has(accountId)) throw new Error('cannot be counted');
      return outstanding.get(accountId) ?? 0;
    },
    outstandingMax: 10_000,
    onDeliveriesMade: (webhookId) => void woken.push(webhookId),
    logger: keepingLogger(lines),
    nowMs: () => nowMs,
  });
});

const recovery = (id: string, dueInMs = 0, accountId = `acct_${id}`): NextRecovery => ({
  id: id as RecoveryId,
  accountId: accountId as AccountId,
  dueInMs,
});
const step = (queued: number, ended: 'finished' | 'stopped' | null = null): RecoveryStep => ({
  webhookId: `wh_${queued}` as WebhookId,
  queued,
  ended,
});

test('does the steps that are due, in order, and none that has to wait', async () => {
  next = [recovery('b'), recovery('a'), recovery('c', 1)];
  expect(await pass.run()).toBe(10);
  expect(done).toEqual([
    ['b', 500],
    ['a', 500],
  ]);
});

test('does 50 steps in a run', async () => {
  next = Array.from({ length: 60 }, (_, n) => recovery(String(n)));
  await pass.run();
  expect(done).toHaveLength(50);
});

test('rests until the next step, and two seconds at most', async () => {
  expect(await pass.run()).toBe(2_000);
  next = [recovery('a', 120), recovery('b', 80)];
  expect(await pass.run()).toBe(80);
  next = [recovery('a', 90_000)];
  expect(await pass.run()).toBe(2_000);
  expect(done).toEqual([]);
});

test('wakes the webhooks that got deliveries, and no others', async () => {
  next = [recovery('a'), recovery('b'), recovery('c')];
  steps = new Map([
    ['a', step(3)],
    ['b', step(0)],
  ]);
  await pass.run();
  expect(woken).toEqual(['wh_3']);
});

test('logs how a recovery ended', async () => {
  next = [recovery('a'), recovery('b'), recovery('c')];
  steps = new Map([
    ['a', step(3, 'finished')],
    ['b', step(0, 'stopped')],
    ['c', step(1)],
  ]);
  await pass.run();
  expect(lines.map(({ msg, fields }) => [msg, fields])).toEqual([
    ['recovery finished', { recovery_id: 'a', webhook_id: 'wh_3' }],
    ['recovery stopped', { recovery_id: 'b', webhook_id: 'wh_0' }],
  ]);
});

test('a step that fails is put off and stops no other, and the run fails', async () => {
  next = [recovery('a'), recovery('b'), recovery('c')];
  steps = new Map<string, RecoveryStep | Error>([
    ['a', new Error('first')],
    ['b', new Error('second')],
    ['c', step(2)],
  ]);
  await expect(pass.run()).rejects.toThrow('first');
  expect(done.map(([id]) => id)).toEqual(['a', 'b', 'c']);
  expect(putOff).toEqual(['a', 'b']);
  expect(woken).toEqual(['wh_2']);
});

test('puts the steps of an account off that has its limit of deliveries', async () => {
  next = [recovery('full'), recovery('free')];
  outstanding = new Map([
    ['acct_full', 10_000],
    ['acct_free', 9_999],
  ]);
  await pass.run();
  expect(done).toEqual([
    ['full', 0],
    ['free', 1],
  ]);
});

test('an account gets 2,000 events a second, whatever the number of its recoveries', async () => {
  next = [recovery('a', 0, 'acct')];
  steps = new Map([
    ['a', step(500)],
    ['b', step(125)],
  ]);
  await pass.run();
  next = [recovery('b', 0, 'acct'), recovery('c')];
  await pass.run();
  nowMs = 125;
  await pass.run();
  nowMs = 1_125;
  await pass.run();
  expect(done).toEqual([
    ['a', 500],
    ...([
      ['b', 0],
      ['c', 500],
    ] as const),
    ...([
      ['b', 125],
      ['c', 500],
    ] as const),
    ...([
      ['b', 500],
      ['c', 500],
    ] as const),
  ]);
});

test('what an account got since it was counted is outstanding, too', async () => {
  next = [recovery('a')];
  steps = new Map([['a', step(30)]]);
  outstanding.set('acct_a', 9_940);
  for (const _ of [1, 2, 3]) await pass.run();
  expect(done).toEqual([
    ['a', 60],
    ['a', 30],
    ['a', 0],
  ]);
  expect(counted).toEqual(['acct_a']);
});

test('counts an account once in ten seconds, whatever the number of its recoveries', async () => {
  next = [recovery('a', 0, 'acct'), recovery('b', 0, 'acct')];
  await pass.run();
  outstanding.set('acct', 10_000);
  nowMs = 9_999;
  await pass.run();
  expect(counted).toEqual(['acct']);
  nowMs = 10_000;
  await pass.run();
  expect(counted).toEqual(['acct', 'acct']);
  expect(done.slice(-2)).toEqual([
    ['a', 0],
    ['b', 0],
  ]);
});

test('a new count of an account gives it no more than its rate', async () => {
  next = [recovery('a')];
  await pass.run();
  nowMs = 9_900;
  steps = new Map([['a', step(500)]]);
  await pass.run();
  nowMs = 10_000;
  await pass.run();
  expect(counted).toEqual(['acct_a', 'acct_a']);
  expect(done.map(([, eventsMax]) => eventsMax)).toEqual([500, 500, 200]);
});

test('an account is counted again once no recovery was running', async () => {
  next = [recovery('a')];
  await pass.run();
  next = [];
  await pass.run();
  next = [recovery('a')];
  await pass.run();
  expect(counted).toEqual(['acct_a', 'acct_a']);
});

test('an account that cannot be counted gets no step: its recovery is put off, and others go on', async () => {
  next = [recovery('a'), recovery('b')];
  uncounted.add('acct_a');
  await expect(pass.run()).rejects.toThrow('cannot be counted');
  expect(done).toEqual([['b', 500]]);
  expect(putOff).toEqual(['a']);
  uncounted.clear();
  await pass.run();
  expect(done.slice(1)).toEqual([
    ['a', 500],
    ['b', 500],
  ]);
});
