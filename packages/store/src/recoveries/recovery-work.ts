import type {
  AccountId,
  DeadLetterReason,
  EventId,
  EventType,
  RecoveryId,
  WebhookId,
} from '@postrider/domain';
import type { Pool, PoolClient } from 'pg';
import { inBoundedStep } from '../db/bounded-step.ts';
import { runOn } from '../db/database.ts';
import { run, runForRow } from '../db/statement.ts';
import { letterFilters } from '../deliveries/dead-letters.ts';
import { recoverDeadLetters } from '../deliveries/sql/replay-dead-letters.ts';
import { rangeValues } from '../events/events.ts';
import { lockDeadLetters, lockEvents } from '../events/sql/replay-event.ts';
import { subscriptionIn } from '../events/webhook-events.ts';
import { eventTimes, wantedTypes } from './recovery-count.ts';
import { findRecoverable, queueRecovered } from './sql/recoverable-events.ts';
import {
  countWaiting,
  nextRecoveries,
  lockRecoveredWebhook,
  lockRecovery,
  putOffRecovery,
  recordStep,
} from './sql/recoveries.ts';

/** The events of a step are due within this time. */
const STEP_SECONDS = 0.25;
/** A failing endpoint gets one event in this time, to find out whether it answers again. */
export const FAILING_STEP_SECONDS = 1;
/** A recovery of a suspended account waits. After `account resume`, the recovery goes on within this time. */
const SUSPENDED_STEP_SECONDS = 10;
/** For this time after a step that failed, the account's other recoveries go first. */
const FAILED_STEP_SECONDS = 30;
/**
 * A step takes about 20 ms, and the steps of other accounts wait for it. So Postgres does not plan each
 * statement anew, and a slow statement ends.
 */
const STEP_SETTINGS = `
  set local plan_cache_mode = force_generic_plan;
  set local statement_timeout = '5s'`;
/** Events that a step reads at most. */
const EVENTS_PER_STEP = 500;

export interface NextRecovery {
  readonly id: RecoveryId;
  readonly accountId: AccountId;
  /** Time until its next step is due; 0 when it is. */
  readonly dueInMs: number;
}

/** The result of a step. Null: another relay has done it, or the recovery has ended. */
export type RecoveryStep = {
  readonly webhookId: WebhookId;
  readonly queued: number;
  readonly ended: 'finished' | 'stopped' | null;
} | null;

/** The recoveries as a relay sees them. */
export type RecoveryWork = ReturnType<typeof createRecoveryWork>;

/** @param pool its commits need not be durable: a step commits its events and its position together. */
export function createRecoveryWork(pool: Pool) {
  return {
    /** The running recoveries, by the time of their next step. One recovery of each account. */
    next: async (max: number): Promise<NextRecovery[]> => runOn<NextRecovery>(pool, nextRecoveries, [max]),
    /**
     * Queues the next events of a recovery. A step is one transaction: a relay that dies leaves no part of
     * it. Two relays never do the same step.
     *
     * @param eventsMax events that the account may have queued now. 0: the step is put off.
     */
    step: async (id: RecoveryId, eventsMax: number): Promise<RecoveryStep> =>
      inBoundedStep(pool, async (client) => {
        await client.query(STEP_SETTINGS);
        return step(client, id, eventsMax);
      }),
    /** Puts off the next step of a recovery whose step failed. */
    putOff: async (id: RecoveryId): Promise<void> =>
      void (await runOn(pool, putOffRecovery, [id, FAILED_STEP_SECONDS])),
  };
}

interface Running {
  readonly id: RecoveryId;
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
  readonly since: Date;
  readonly until: Date;
  readonly types: readonly EventType[];
  readonly undeliveredOnly: boolean;
  readonly rate: number;
  readonly position: string;
  readonly lastPosition: string;
  readonly asOf: Date;
  readonly deadLettersOnly: boolean;
  readonly reason: DeadLetterReason | null;
}

interface WebhookRow {
  readonly subject: string | null;
  readonly events: readonly string[];
  readonly domains: string[];
  readonly createdAt: Date;
  readonly failing: boolean;
  readonly suspended: boolean;
}

/** The result of a step's work. */
interface Queued {
  readonly queued: number;
  /** The position of the last event that was read. */
  readonly position: string;
  /** No events are left for a later step. */
  readonly isLast: boolean;
}

/** The locks are taken in the order of a replay: webhook, dead letters, events. */
async function step(client: PoolClient, id: RecoveryId, accountMax: number): Promise<RecoveryStep> {
  const [row] = await run<Omit<Running, 'id'>>(client, lockRecovery, [id]);
  if (row === undefined) return null;
  const recovery = { ...row, id };
  const { accountId, webhookId, rate, position } = recovery;
  const [webhook] = await run<WebhookRow>(client, lockRecoveredWebhook, [accountId, webhookId]);
  if (webhook === undefined)
    return record(client, recovery, { position, queued: 0, seconds: 0, ended: 'stopped' });
  const nothing = { position, queued: 0, ended: null };
  if (webhook.suspended) return record(client, recovery, { ...nothing, seconds: SUSPENDED_STEP_SECONDS });
  const idleSeconds = webhook.failing ? FAILING_STEP_SECONDS : STEP_SECONDS;
  const eventsMax = Math.min(accountMax, await capacity(client, recovery, webhook.failing));
  if (eventsMax === 0) return record(client, recovery, { ...nothing, seconds: idleSeconds });
  const done = recovery.deadLettersOnly
    ? await queueLetters(client, recovery, eventsMax)
    : await queueEvents(client, recovery, webhook, eventsMax);
  // Other transactions hold the dead letters that are left.
  const isHeldUp = recovery.deadLettersOnly && done.queued === 0;
  const secondsPerEvent = webhook.failing ? FAILING_STEP_SECONDS : 1 / rate;
  return record(client, recovery, {
    position: done.position,
    queued: done.queued,
    seconds: isHeldUp ? idleSeconds : done.queued * secondsPerEvent,
    ended: done.isLast ? 'finished' : null,
  });
}

/**
 * How many events a step may queue. Fresh events wait behind what was queued before them. So a recovery adds
 * nothing while as many events wait as one step has. This also slows the recovery of a slow endpoint down.
 */
async function capacity(client: PoolClient, { webhookId, rate }: Running, failing: boolean): Promise<number> {
  const max = failing ? 1 : Math.ceil(rate * STEP_SECONDS);
  const { waiting } = await runForRow<{ waiting: number }>(client, countWaiting, [webhookId, max]);
  return max - waiting;
}

/** A dead letter that was replayed is deleted, so the next step finds the following dead letters. */
async function queueLetters(client: PoolClient, recovery: Running, lettersMax: number): Promise<Queued> {
  const { id, accountId, webhookId, rate, since, until, position } = recovery;
  const filters = letterFilters({ type: recovery.types[0], reason: recovery.reason });
  const statement = recoverDeadLetters(filters);
  const times = [since.toISOString(), until.toISOString()];
  const values = [accountId, webhookId, 'infinity', '', lettersMax, ...times, id, rate];
  const row = await runForRow<{ queued: number; isLast: boolean }>(client, statement, [
    ...values,
    ...Object.values(filters),
  ]);
  return { ...row, position };
}

async function queueEvents(
  client: PoolClient,
  recovery: Running,
  webhook: WebhookRow,
  eventsMax: number,
): Promise<Queued> {
  const { ids, ...found } = await findEvents(client, recovery, webhook, eventsMax);
  const queued = ids.length === 0 ? 0 : await queue(client, recovery, webhook, ids);
  return { queued, ...found };
}

interface FoundRow {
  readonly found: number;
  readonly foundTo: string | null;
  readonly id: EventId | null;
  readonly position: string | null;
}

async function findEvents(client: PoolClient, recovery: Running, webhook: WebhookRow, eventsMax: number) {
  const { accountId, asOf, types, position, lastPosition: last } = recovery;
  const subscription = subscriptionIn(webhook);
  const range = { after: BigInt(position), last: BigInt(last) };
  const wanted = wantedTypes(subscription.types, types);
  const values = rangeValues(accountId, wanted, eventTimes(recovery, asOf), range, EVENTS_PER_STEP);
  const rows = await run<FoundRow>(client, findRecoverable, [
    ...values,
    ...wantedValues(recovery, webhook),
    eventsMax,
  ]);
  const [{ found, foundTo }] = rows as [FoundRow];
  const ids = rows.flatMap(({ id }) => (id === null ? [] : [id]));
  const isCut = ids.length === eventsMax;
  const to = isCut ? rows.at(-1)?.position : foundTo;
  return { ids, position: to ?? position, isLast: !isCut && found < EVENTS_PER_STEP };
}

/** Queues the events that are still wanted under the locks. @returns how many. */
async function queue(client: PoolClient, recovery: Running, webhook: WebhookRow, ids: readonly EventId[]) {
  const { id, accountId, webhookId, rate } = recovery;
  await run(client, lockDeadLetters, [webhookId, ids]);
  await run(client, lockEvents, [accountId, ids]);
  const values = [accountId, ids, ...wantedValues(recovery, webhook), id, rate];
  return (await runForRow<{ queued: number }>(client, queueRecovered, values)).queued;
}

function wantedValues({ webhookId, undeliveredOnly, asOf }: Running, webhook: WebhookRow): unknown[] {
  const { rule, domains } = subscriptionIn(webhook);
  return [webhookId, rule, domains, undeliveredOnly, asOf.toISOString()];
}

async function record(
  client: PoolClient,
  { id, webhookId }: Running,
  {
    position,
    queued,
    seconds,
    ended,
  }: {
    readonly position: string;
    readonly queued: number;
    /** Time until the next step. */
    readonly seconds: number;
    readonly ended: 'finished' | 'stopped' | null;
  },
): Promise<RecoveryStep> {
  await run(client, recordStep, [id, position, queued, seconds, ended === 'finished', ended === 'stopped']);
  return { webhookId, queued, ended };
}
