import {
  CONTRACT_RETRY_DELAYS_SECONDS,
  decideOutcome,
  inboundSubject,
  recordEvent,
  retrySchedule,
} from '@postrider/domain';
import type { AccountId, AttemptResult, EventDraft, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, systemClock } from '@postrider/testing';
import type { DeliveryClaim, FinishedAttempt } from '../../src/deliveries/delivery-work.ts';
import { dropOldEvents } from '../../src/retention/old-events.ts';
import { CLAIM_LIMITS, leasedBy, requestFor } from '../claim-fixture.ts';
import type { Act, Ending, Hand, ReleasedJob } from './acts.ts';
import type { Plan, Way } from './plans.ts';
import { unitsOf } from './snapshot.ts';
import { LEASE_UNITS, LOOK_AHEAD_UNITS, UNIT_SECONDS, UNITS_PER_TICK } from './state.ts';
import type { State } from './state.ts';
import { newLetterId } from './world.ts';
import type { World } from './world.ts';

/** The contract's schedule, stretched so that its shortest delay is one tick. */
const SCHEDULE = retrySchedule(
  CONTRACT_RETRY_DELAYS_SECONDS.map((seconds) => (seconds / 30) * UNITS_PER_TICK * UNIT_SECONDS),
);
const RULE = 'r1';
const EVENT_DAYS = 30;
/** Its time is long past its days. */
const DATE_BACK = `update events set created_at = now() - interval '100 days' where id = $1`;
/** Causes stay open while somebody holds this advisory lock. */
export const CAUSES_LOCK = 43;

/** A thread that knows what it works on: it does its acts one after the other. */
export type Thread = () => Promise<Act[]>;

type PlanOf<K extends Plan['kind']> = Extract<Plan, { kind: K }>;

/** Resolves what a plan points at, before anything of its round runs. */
export function prepare(plan: Plan, world: World, state: State): Thread {
  switch (plan.kind) {
    case 'register':
      return () => register(plan, world);
    case 'record':
      return () => record(plan, world);
    case 'claim': {
      const chosen = plan.webhook === null ? world.registered : chosenOf(world.registered, [plan.webhook]);
      return async () => [await claim(world, chosen, plan.limit, state.now)];
    }
    case 'release': {
      const jobs = chosenOf(world.jobs, plan.jobs);
      return () => release(world, jobs);
    }
    case 'take': {
      const jobs = chosenOf(world.jobs, plan.jobs);
      return async () => [(await take(world, jobs, state.now)).act];
    }
    case 'finish': {
      const hands = startedOf(chosenOf(world.hands, plan.hands), state.now);
      return () => finish(world, hands, plan.ways);
    }
    case 'hold':
      return async () => (await hold(world, [...world.registered], plan.limit, state.now)).acts;
    case 'deliver':
      return () => deliver(world, [...world.registered], plan, state.now);
    case 'delete':
      return remove(plan, world);
    case 'replay':
      return replay(plan, world);
    case 'retention':
      return async () => [await retention(world)];
  }
}

/** The days of the attempt log are past, too: an event stays for as long as an attempt of it is logged. */
async function retention(world: World): Promise<Act> {
  await world.database.query(`update attempts set event_id = 'evt_past'`);
  return { kind: 'retention', dropped: await dropOldEvents(world.retention, EVENT_DAYS) };
}

/** A number counts back from the latest; each thing is chosen once. */
function chosenOf<T>(all: readonly T[], picks: readonly number[]): T[] {
  return [...new Set(picks.map((pick) => all.at(-1 - (pick % Math.max(1, all.length)))))].filter(
    (one) => one !== undefined,
  );
}

/** A worker that took a delivery early waits until it is due. */
function startedOf(hands: readonly Hand[], now: number): Hand[] {
  return hands.filter(({ startsAt }) => startsAt <= now);
}

async function register(plan: PlanOf<'register'>, world: World): Promise<Act[]> {
  const accountId = accountOf(world, plan.account);
  const subject = plan.rule ? inboundSubject(accountId, RULE) : null;
  const wish = { accountId, events: plan.events, ...(subject === null ? {} : { subject }) };
  const webhookId = await createRows(world.database).webhook(wish);
  world.registered.push(webhookId);
  return [{ kind: 'register', webhookId, webhook: { accountId, events: plan.events, subject } }];
}

async function record(plan: PlanOf<'record'>, world: World): Promise<Act[]> {
  const accountId = accountOf(world, plan.account);
  const { type, old } = plan;
  const about = { email_id: 'em_1', from: 'a@a.example', subject: 'Grüße, "you"' };
  const draft: EventDraft =
    type === 'email.failed'
      ? { type, accountId, data: { ...about, error: 'no' } }
      : { type: 'email.sent', accountId, data: { ...about, error: null } };
  const eventId = await world.db.transactions.run(async (tx) => {
    const id = await recordEvent(tx, plan.rule ? { ...draft, inboundRule: RULE } : draft, systemClock);
    if (old) await tx.client.$executeRawUnsafe(DATE_BACK, id);
    // The rest of the cause, which may take its time.
    await tx.client.$queryRawUnsafe(`select 1 from pg_advisory_xact_lock_shared(${CAUSES_LOCK})`);
    return id;
  });
  const event = { accountId, type, data: JSON.stringify(draft.data), old };
  return [{ kind: 'record', eventId, event, subject: plan.rule ? inboundSubject(accountId, RULE) : null }];
}

export async function claim(
  world: World,
  asked: readonly WebhookId[],
  limit: number,
  now: number,
): Promise<Act & { kind: 'claim' }> {
  const claims = await world.outbox.claim(
    asked.map((webhookId) => requestFor(webhookId, limit)),
    {
      ...CLAIM_LIMITS,
      lookAheadSeconds: LOOK_AHEAD_UNITS * UNIT_SECONDS,
      leaseSeconds: LEASE_UNITS * UNIT_SECONDS,
    },
  );
  const claimed = leasedBy(claims);
  for (const { deliveryId, claim: token, dueInMs, leaseExpired } of claimed) {
    world.jobs.push({ deliveryId, claim: token, leaseExpired, readyAt: now + unitsOf(dueInMs / 1000) });
  }
  return { kind: 'claim', asked, limit, claimed };
}

async function release(world: World, jobs: readonly ReleasedJob[]): Promise<Act[]> {
  await world.outbox.release(jobs);
  return [{ kind: 'release', jobs }];
}

export async function take(
  world: World,
  jobs: readonly DeliveryClaim[],
  now: number,
): Promise<{ act: Act; hands: readonly Hand[] }> {
  const taken = await world.work.take(jobs, LEASE_UNITS * UNIT_SECONDS);
  const hands = taken.map(({ deliveryId, claim: token, eventId, webhookId, attemptsMade, dueInMs }) => ({
    deliveryId,
    claim: token,
    eventId,
    webhookId,
    attemptsMade,
    startsAt: now + unitsOf(dueInMs / 1000),
  }));
  world.hands.push(...hands);
  return { act: { kind: 'take', jobs, taken }, hands };
}

/** @param ways what came of the attempts, in turn; what follows depends on how many were made before. */
export async function finish(world: World, hands: readonly Hand[], ways: readonly Way[]): Promise<Act[]> {
  const endings = hands.map((hand, index): Ending => {
    const way = ways[index % ways.length];
    if (way === undefined) throw new Error('an attempt that came to nothing at all');
    const { result, late } = way;
    return {
      hand,
      outcome: decideOutcome(result, hand.attemptsMade + 1, SCHEDULE),
      statusCode: result.kind === 'answered' ? result.statusCode : null,
      requestMade: result.kind !== 'refused',
      deadLetterId: newLetterId(),
      endedAgoUnits: late ? 1 : 0,
    };
  });
  const acts: Act[] = [];
  for (const as of ['done', 'retry', 'dead'] as const) {
    const these = endings.filter(({ outcome }) => outcome.kind === as);
    if (these.length === 0) continue;
    acts.push({ kind: 'finish', as, endings: these, ended: await finishBatch(world, these, as) });
  }
  return acts;
}

async function finishBatch(
  world: World,
  endings: readonly Ending[],
  as: 'done' | 'retry' | 'dead',
): Promise<string[]> {
  if (as === 'done') return world.work.done(endings.map(finishedOf));
  if (as === 'retry') {
    return world.work.retry(
      endings.flatMap((ending) =>
        ending.outcome.kind === 'retry'
          ? [
              {
                ...finishedOf(ending),
                error: ending.outcome.lastError,
                dueInMs: ending.outcome.delayMs - endedAgoMs(ending),
              },
            ]
          : [],
      ),
    );
  }
  const ended = await world.work.dead(
    endings.flatMap((ending) => {
      const { outcome, deadLetterId, requestMade } = ending;
      if (outcome.kind !== 'dead') return [];
      return [
        {
          ...finishedOf(ending),
          error: outcome.lastError,
          reason: outcome.reason,
          deadLetterId,
          requestMade,
        },
      ];
    }),
  );
  const made = endings.filter(({ hand }) => ended.includes(hand.deliveryId));
  world.letters.push(...made.map(({ deadLetterId }) => deadLetterId));
  return ended;
}

function endedAgoMs({ endedAgoUnits }: Ending): number {
  return endedAgoUnits * UNIT_SECONDS * 1000;
}

function finishedOf(ending: Ending): FinishedAttempt {
  const { hand, statusCode } = ending;
  const { deliveryId, claim: token, eventId, webhookId } = hand;
  return {
    deliveryId,
    claim: token,
    eventId,
    webhookId,
    statusCode,
    eventType: 'email.sent',
    answer: null,
    startedAgoMs: endedAgoMs(ending) + 100,
    durationMs: 100,
  };
}

/** A relay and a worker one after the other: what is claimed and due is taken. */
async function hold(
  world: World,
  asked: readonly WebhookId[],
  limit: number,
  now: number,
): Promise<{ acts: Act[]; hands: readonly Hand[] }> {
  const claimed = await claim(world, asked, limit, now);
  const due = claimed.claimed.filter(({ dueInMs }) => dueInMs === 0);
  const jobs = due.map(({ deliveryId, claim: token }) => ({ deliveryId, claim: token }));
  if (jobs.length === 0) return { acts: [claimed], hands: [] };
  const { act, hands } = await take(world, jobs, now);
  return { acts: [claimed, act], hands };
}

/** The same, and what is taken is attempted. */
export async function deliver(
  world: World,
  asked: readonly WebhookId[],
  { limit, result }: { limit: number; result: AttemptResult },
  now: number,
): Promise<Act[]> {
  const { acts, hands } = await hold(world, asked, limit, now);
  return [...acts, ...(await finish(world, hands, [{ result, late: false }]))];
}

function remove(plan: PlanOf<'delete'>, world: World): Thread {
  const [webhookId] = chosenOf(world.registered, [plan.webhook]);
  if (webhookId === undefined) return async () => [];
  return async () => {
    const accountId = accountOf(world, plan.foreign ? 1 : 0);
    return [
      {
        kind: 'delete',
        accountId,
        webhookId,
        deleted: await world.webhooks.delete(accountId, webhookId, ACTOR),
      },
    ];
  };
}

function replay(plan: PlanOf<'replay'>, world: World): Thread {
  const [letterId] = chosenOf(world.letters, [plan.letter]);
  if (letterId === undefined) return async () => [];
  return async () => {
    const accountId = accountOf(world, plan.foreign ? 1 : 0);
    return [
      {
        kind: 'replay',
        accountId,
        letterId,
        replayed: await world.deadLetters.replay(accountId, letterId, ACTOR),
      },
    ];
  };
}

function accountOf(world: World, index: number): AccountId {
  const accountId = world.accounts[index];
  if (accountId === undefined) throw new Error('the run has not begun');
  return accountId;
}
