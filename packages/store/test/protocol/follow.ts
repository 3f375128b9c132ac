import type { EventId, WebhookId } from '@postrider/domain';
import type { LeasedDelivery } from '../../src/deliveries/delivery-outbox.ts';
import type { DeliveryClaim, HeldDelivery } from '../../src/deliveries/delivery-work.ts';
import type { Act, Ending, ReleasedJob } from './acts.ts';
import { unitsOf } from './snapshot.ts';
import type { Snapshot } from './snapshot.ts';
import { copyOf, isFree, LEASE_UNITS, logLine, LOOK_AHEAD_UNITS, pairOf, UNIT_SECONDS } from './state.ts';
import type { DeliveryState, End, LetterState, State } from './state.ts';

/** An answer that the protocol does not allow in this state. */
export class Contradiction extends Error {}

export interface Circumstances {
  /** The state before anything of the round ran. */
  readonly begun: State;
  /** What Postgres holds afterwards. */
  readonly seen: Snapshot;
  /** The outstanding deliveries before, in the order in which they are due. */
  readonly order: readonly string[];
  /** Nothing else ran at the same time. What skips locked rows then finds all that it should. */
  readonly alone: boolean;
}

type ActOf<K extends Act['kind']> = Extract<Act, { kind: K }>;

/**
 * The states that may follow when `act` happens in `before`, all at once.
 *
 * @throws Contradiction when the act cannot have been answered like this.
 */
export function follow(before: State, act: Act, at: Circumstances): State[] {
  const state = copyOf(before);
  switch (act.kind) {
    case 'register':
      state.webhooks.set(act.webhookId, act.webhook);
      return [state];
    case 'record':
      return [recorded(state, act, at)];
    case 'claim':
      return [claimed(state, act, at)];
    case 'release':
      return released(state, act.jobs, at);
    case 'take':
      return [taken(state, act, at)];
    case 'finish':
      return [finished(state, act, at)];
    case 'delete':
      return [deleted(state, act)];
    case 'replay':
      return [replayed(state, act, at)];
    case 'retention':
      return [retained(state, act, at)];
  }
}

function recorded(state: State, act: ActOf<'record'>, at: Circumstances): State {
  state.events.set(act.eventId, act.event);
  state.storedEvents.add(act.eventId);
  for (const [webhookId, webhook] of state.webhooks) {
    const matches =
      webhook.accountId === act.event.accountId &&
      (webhook.events.length === 0 || webhook.events.includes(act.event.type)) &&
      (webhook.subject === null || webhook.subject === act.subject);
    if (matches) queue(state, { eventId: act.eventId, webhookId, statusCode: null }, at);
  }
  return state;
}

/** A fresh set of attempts, due now. A replay keeps the last status. */
function queue(
  state: State,
  { eventId, webhookId, statusCode }: Pick<LetterState, 'eventId' | 'webhookId' | 'statusCode'>,
  { seen }: Circumstances,
): void {
  const pair = pairOf(eventId, webhookId);
  const set = state.sets.get(pair) ?? 0;
  const id = seen.made.get(pair)?.[set];
  if (id === undefined) throw new Contradiction(`${pair} was not queued for the ${set + 1}. time`);
  state.sets.set(pair, set + 1);
  state.deliveries.set(id, {
    eventId,
    webhookId,
    claim: 0,
    attempts: 0,
    lastStatus: statusCode,
    dueAt: state.now,
    leasedUntil: null,
    takenAt: null,
  });
}

function claimed(state: State, act: ActOf<'claim'>, at: Circumstances): State {
  const asked = new Set(act.asked);
  if (at.alone) {
    const expected = act.asked.flatMap((webhookId) => claimable(state, webhookId, act.limit, at.order));
    mustEqual('claimed', sorted(act.claimed.map(({ deliveryId }) => deliveryId)), sorted(expected));
  }
  for (const job of act.claimed) {
    const delivery = outstanding(state, job.deliveryId);
    checkClaimed(state, delivery, job, asked);
    state.deliveries.set(job.deliveryId, {
      ...delivery,
      leasedUntil: Math.max(delivery.dueAt, state.now) + LEASE_UNITS,
      takenAt: null,
    });
  }
  return state;
}

function checkClaimed(
  state: State,
  delivery: DeliveryState,
  job: LeasedDelivery,
  asked: ReadonlySet<WebhookId>,
): void {
  if (!asked.has(delivery.webhookId)) throw new Contradiction(`claimed ${job.deliveryId} unasked`);
  if (!isFree(delivery, state.now)) throw new Contradiction(`claimed ${job.deliveryId}, which is leased`);
  mustEqual(
    `the job of ${job.deliveryId}`,
    [job.claim, job.webhookId, unitsOf(job.dueInMs / 1000), job.leaseExpired],
    [
      delivery.claim,
      delivery.webhookId,
      Math.max(0, delivery.dueAt - state.now),
      delivery.leasedUntil !== null,
    ],
  );
}

/** Of the webhook's oldest that are due soon, as many as its limit, those that nobody holds. */
function claimable(state: State, webhookId: WebhookId, limit: number, order: readonly string[]): string[] {
  if (!state.webhooks.has(webhookId)) return [];
  return order
    .flatMap((id) => {
      const delivery = state.deliveries.get(id);
      return delivery?.webhookId === webhookId ? [{ id, delivery }] : [];
    })
    .filter(({ delivery }) => delivery.dueAt <= state.now + LOOK_AHEAD_UNITS)
    .slice(0, limit)
    .filter(({ delivery }) => isFree(delivery, state.now))
    .map(({ id }) => id);
}

/**
 * A lease ends if its row is there under the same claim; a row that is locked is skipped. A row whose earlier
 * lease had expired keeps an expired lease.
 */
function released(state: State, jobs: readonly ReleasedJob[], { alone }: Circumstances): State[] {
  let states = [state];
  const expired = new Set(jobs.flatMap((job) => (job.leaseExpired ? [job.deliveryId] : [])));
  for (const { deliveryId, claim } of jobs) {
    const delivery = state.deliveries.get(deliveryId);
    const leasedUntil = expired.has(deliveryId) ? state.now : null;
    if (delivery?.claim !== claim || delivery.leasedUntil === leasedUntil) continue;
    const freed = states.map((one) => {
      const other = copyOf(one);
      other.deliveries.set(deliveryId, { ...delivery, leasedUntil });
      return other;
    });
    states = alone ? freed : [...freed, ...states];
  }
  return states;
}

/** Of all jobs for one hand-over one gets the row, and the row goes by the next claim from then on. */
function taken(state: State, act: ActOf<'take'>, at: Circumstances): State {
  const got = new Set(act.taken.map(({ deliveryId }) => deliveryId));
  const won = act.jobs.filter((job) => isHeld(state, job) && !isMissed(job, got, at));
  mustEqual('taken', sorted([...got]), sorted([...new Set(won.map(({ deliveryId }) => deliveryId))]));
  for (const got of act.taken) {
    const delivery = outstanding(state, got.deliveryId);
    const event = state.events.get(delivery.eventId);
    mustEqual(
      `what was taken with ${got.deliveryId}`,
      [
        got.claim,
        got.attemptsMade,
        got.eventId,
        got.eventType,
        got.eventData,
        got.webhookId,
        unitsOf(got.dueInMs / 1000),
      ],
      [
        ...[
          delivery.claim + 1,
          delivery.attempts,
          delivery.eventId,
          event?.type,
          event?.data,
          delivery.webhookId,
        ],
        Math.max(0, delivery.dueAt - state.now),
      ],
    );
    const from = Math.max(delivery.dueAt, state.now);
    const [claim, leasedUntil] = [delivery.claim + 1, from + LEASE_UNITS];
    state.deliveries.set(got.deliveryId, { ...delivery, claim, leasedUntil, takenAt: from });
  }
  return state;
}

/** The fence: who does not hold the claim, of this event for this webhook, changes nothing. */
function finished(state: State, act: ActOf<'finish'>, at: Circumstances): State {
  const ended = new Set(act.ended);
  const mine = act.endings.filter(
    ({ hand }) => isHeld(state, hand) && isOf(state, hand) && !isMissed(hand, ended, at),
  );
  // A row that was taken in the lost history, and again in this one, has two hands that fit.
  const held = [...new Map([...mine].reverse().map((ending) => [ending.hand.deliveryId, ending])).values()];
  mustEqual('finished', sorted(act.ended), sorted(held.map(({ hand }) => hand.deliveryId)));
  for (const ending of held) finish(state, ending);
  return state;
}

function finish(state: State, ending: Ending): void {
  const { outcome, statusCode } = ending;
  const id = ending.hand.deliveryId;
  const delivery = outstanding(state, id);
  const error = outcome.kind === 'done' ? null : outcome.lastError;
  const lastStatus = statusCode ?? delivery.lastStatus;
  const attempts = delivery.attempts + (ending.requestMade ? 1 : 0);
  if (ending.requestMade) state.log.push(logLine(id, attempts, statusCode, error));
  switch (outcome.kind) {
    case 'done':
      end(state, id, 'done');
      return;
    case 'dead': {
      const { eventId, webhookId } = delivery;
      const { reason, lastError } = outcome;
      state.letters.set(ending.deadLetterId, {
        eventId,
        webhookId,
        attempts,
        reason,
        lastError,
        statusCode: lastStatus,
      });
      end(state, id, 'dead');
      return;
    }
    case 'retry': {
      const dueAt = state.now + outcome.delayMs / 1000 / UNIT_SECONDS - ending.endedAgoUnits;
      const free = { leasedUntil: null, takenAt: null, claim: delivery.claim + 1 };
      state.deliveries.set(id, { ...delivery, ...free, attempts, lastStatus, dueAt });
    }
  }
}

function deleted(state: State, act: ActOf<'delete'>): State {
  const webhook = state.webhooks.get(act.webhookId);
  const found = webhook?.accountId === act.accountId && webhook.subject === null;
  mustEqual(`the DELETE of ${act.webhookId}`, act.deleted, found);
  if (!found) return state;
  state.webhooks.delete(act.webhookId);
  for (const [id, { webhookId }] of state.deliveries)
    if (webhookId === act.webhookId) end(state, id, 'dropped');
  for (const [id, { webhookId }] of state.letters) if (webhookId === act.webhookId) state.letters.delete(id);
  return state;
}

function replayed(state: State, act: ActOf<'replay'>, at: Circumstances): State {
  const letter = state.letters.get(act.letterId);
  const found = letter !== undefined && state.webhooks.get(letter.webhookId)?.accountId === act.accountId;
  mustEqual(`the replay of ${act.letterId}`, act.replayed, found);
  if (!found) return state;
  state.letters.delete(act.letterId);
  state.storedEvents.add(letter.eventId);
  queue(state, letter, at);
  return state;
}

/** Beside others it may have to leave an event for the next time, or find one that they leave behind. */
function retained(state: State, act: ActOf<'retention'>, { alone }: Circumstances): State {
  if (!alone) return state;
  const past = droppable(state);
  mustEqual('events dropped', act.dropped, past.length);
  for (const id of past) state.storedEvents.delete(id);
  return state;
}

/** Events past their days that nothing outstanding needs. */
export function droppable(state: State): EventId[] {
  const needed = new Set([...state.deliveries.values()].map(({ eventId }) => eventId));
  return [...state.storedEvents].filter((id) => state.events.get(id)?.old === true && !needed.has(id));
}

function end(state: State, id: string, as: End): void {
  state.deliveries.delete(id);
  state.ends.set(id, as);
}

function isHeld(state: State, { deliveryId, claim }: DeliveryClaim): boolean {
  return state.deliveries.get(deliveryId)?.claim === claim;
}

/**
 * A job or hand of a lost history may come to fit a row only during the round. A statement that began before
 * finds the row as it was, although it finds what others have changed on rows that it waited for. Nothing is
 * lost: the row is claimed by a job of its own.
 */
function isMissed(
  delivery: DeliveryClaim,
  found: ReadonlySet<string>,
  { begun, alone }: Circumstances,
): boolean {
  return !alone && !found.has(delivery.deliveryId) && !isHeld(begun, delivery);
}

/** A row of the restored history may have the id and the claim that another had in the lost one. */
function isOf(state: State, { deliveryId, eventId, webhookId }: HeldDelivery): boolean {
  const delivery = state.deliveries.get(deliveryId);
  return delivery?.eventId === eventId && delivery.webhookId === webhookId;
}

function outstanding(state: State, id: string): DeliveryState {
  const delivery = state.deliveries.get(id);
  if (delivery === undefined) throw new Contradiction(`${id} is not outstanding`);
  return delivery;
}

function sorted(ids: readonly string[]): string[] {
  return [...ids].sort();
}

function mustEqual(what: string, got: unknown, expected: unknown): void {
  const [left, right] = [JSON.stringify(got), JSON.stringify(expected)];
  if (left !== right) throw new Contradiction(`${what}: ${left}, the protocol allows ${right}`);
}
