import type { AttemptResult, WebhookId } from '@postrider/domain';
import type { Act } from './acts.ts';
import { deliver, finish, take } from './perform.ts';
import { explained, passTime } from './round.ts';
import { isFree, LOOK_AHEAD_UNITS, UNIT_SECONDS, UNITS_PER_TICK } from './state.ts';
import type { State } from './state.ts';
import type { World } from './world.ts';

/** Eight attempts for the slowest, leases of killed workers before each, and some to spare. */
const ROUNDS_MAX = 60;
const ROUNDS_OF_FAILURES = 12;
const LIMIT = 50;
const WEBHOOKS_PER_STEP = 2;

/**
 * Lets a healthy relay and worker go on until nothing is outstanding: they look through the index as the relay does,
 * work the jobs that the queue held back, and know nothing of who was there before.
 *
 * @param answers of the endpoints, in turn; after enough rounds they all answer well.
 * @throws Error when something stays outstanding: it is lost to everybody.
 */
export async function quiesce(
  world: World,
  before: State,
  answers: readonly AttemptResult[],
): Promise<State> {
  let state = before;
  world.jobs.length = 0; // as if the queue had been wiped: leases heal it
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const due = await sweepAll(world, state);
    if (state.deliveries.size === 0) return state;
    const ill = round < ROUNDS_OF_FAILURES ? answers[round % answers.length] : undefined;
    const result = ill ?? { kind: 'answered', statusCode: 200 };
    const heldBack = await workHeldBack(world, state.now, result);
    const fresh = await deliver(world, due, { limit: LIMIT, result }, state.now);
    state = await explained(world, state, [[...heldBack, ...fresh]]);
    if (state.deliveries.size > 0) state = await passTime(world, state, ticksUntilNext(state));
  }
  throw new Error(`still outstanding after ${ROUNDS_MAX} rounds: ${JSON.stringify([...state.deliveries])}`);
}

/** @returns the webhooks with something due soon; throws unless the index tells exactly what the model does. */
async function sweepAll(world: World, state: State): Promise<WebhookId[]> {
  const found: WebhookId[] = [];
  for (let next: string | null = ''; next !== null;) {
    const { webhooks, cursor } = await world.outbox.sweep(
      next,
      WEBHOOKS_PER_STEP,
      LOOK_AHEAD_UNITS * UNIT_SECONDS,
    );
    found.push(...webhooks.map(({ webhookId }) => webhookId));
    next = cursor;
  }
  const soon = [...state.deliveries.values()].filter(({ dueAt }) => dueAt <= state.now + LOOK_AHEAD_UNITS);
  const expected = [...new Set(soon.map(({ webhookId }) => webhookId))].sort();
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`the sweep found ${JSON.stringify(found)}, due soon is ${JSON.stringify(expected)}`);
  }
  return found;
}

/** Jobs that the queue held back until their delivery was due. */
async function workHeldBack(world: World, now: number, result: AttemptResult): Promise<Act[]> {
  const ready = world.jobs.filter(({ readyAt }) => readyAt <= now);
  if (ready.length === 0) return [];
  world.jobs = world.jobs.filter(({ readyAt }) => readyAt > now);
  const { act, hands } = await take(world, ready, now);
  return [act, ...(await finish(world, hands, [{ result, late: false }]))];
}

/** Until something is due soon that nobody holds, or is due. */
function ticksUntilNext(state: State): number {
  const next = [...state.deliveries.values()].map((delivery) =>
    isFree(delivery, state.now)
      ? delivery.dueAt
      : Math.min(delivery.leasedUntil ?? Infinity, Math.max(delivery.dueAt, state.now + 1)),
  );
  return Math.max(1, Math.ceil((Math.min(...next) - state.now) / UNITS_PER_TICK));
}
