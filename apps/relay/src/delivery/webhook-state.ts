import type { AccountId, WebhookId } from '@postrider/domain';
import type { Lane } from '@postrider/queue';
import type { DeliveryPosition, WebhookReport } from '@postrider/store';
import { FlightTime } from './flight-time.ts';

/** The limit of a webhook that is new to the relay, or failing. If it hangs, 8 attempts wait for 10 s. */
export const FIRST_LIMIT = 8;
/** Growth of the limit per ended attempt: an endpoint that takes 2 s has 72 in flight after 4 s. */
const GROWTH = 2;
/** An endpoint hangs when this many attempts are stuck, or half of its limit if that is less. */
const HANGS_AT_STUCK = 8;
/** Deliveries due within this time become delayed jobs. Later ones wait in Postgres. */
export const LOOK_AHEAD_MS = 60_000;
/** The shortest pause that the relay sets itself. A wake-up may come sooner. */
export const CHECK_MS_MIN = 10;
/** A webhook with deliveries in flight is checked after this time. So a hang or a dead worker is found. */
export const CHECK_MS_MAX = 500;
/** A webhook at its limit is checked after this fraction of its flight time. */
const AT_LIMIT_CHECK_FRACTION = 1 / 8;

/** What the relay knows of an account. */
export interface AccountState {
  inFlight: number;
  /** Its webhooks with deliveries in flight. */
  busyWebhooks: number;
  /** Its webhooks of the fast lane whose deliveries wait because the account may have no more in flight. */
  cutWebhooks: number;
  /** Its webhooks that the relay knows. */
  webhookCount: number;
}

export interface WebhookLimit {
  /** Due deliveries that the webhook may have in flight. */
  readonly limit: number;
  /** The account's limit makes it lower than the webhook's own. */
  readonly isCutByAccount: boolean;
}

/** What the relay knows of a webhook. After a restart the relay learns it again. */
export class WebhookState {
  readonly webhookId: WebhookId;
  /** Null until the first report. */
  accountId: AccountId | null = null;
  /** Until the first report it is the webhook's own, and no other webhook's limits depend on it. */
  account: AccountState = { inFlight: 0, busyWebhooks: 0, cutWebhooks: 0, webhookCount: 0 };
  /** The limit without regard to its account. It grows with each attempt that ends. */
  grownLimit = FIRST_LIMIT;
  /** Due deliveries in the queue or in an attempt, after the last report. */
  inFlight = 0;
  /** The last claim found as many due deliveries as the webhook may have in flight. */
  isAtLimit = false;
  /** No outstanding delivery is known before it (decision 0016). Null: unknown. */
  lowWaterMark: DeliveryPosition | null = null;
  /** When the relay last claimed for it, or first heard of it. */
  checkedAtMs: number;
  /** When the relay claims for it again. Infinity: not before a wake-up or a sweep. */
  checkAtMs = Infinity;
  /**
   * Times at which the registry looks at it, the earliest last. It then reads `checkAtMs`: the check may have
   * moved.
   */
  readonly scheduledAtMs: number[] = [];
  #isCut = false;
  #isFailing = false;
  #hangs = false;
  /** The relay has leased a due delivery since it last saw a stuck attempt. */
  #leasedSinceStuck = false;
  readonly #flightTime = new FlightTime();

  constructor(webhookId: WebhookId, nowMs: number) {
    this.webhookId = webhookId;
    this.checkedAtMs = nowMs;
  }

  get lane(): Lane {
    return this.#isFailing || this.#hangs ? 'slow' : 'fast';
  }

  get isQuick(): boolean {
    return this.#flightTime.isQuick(this.inFlight);
  }

  /** Takes in what a claim saw. @param nowMs when the claim began. @param quickLimit see `FlightTime.add`. */
  observe(
    report: WebhookReport,
    { limit, isCutByAccount, quickLimit, nowMs }: WebhookLimit & { quickLimit: number; nowMs: number },
  ): void {
    const leasedDue = report.leased.filter(({ dueInMs }) => dueInMs === 0).length;
    // An expired lease is no ended attempt: the job or its worker was lost, or the job still waits.
    const ended = Math.max(0, this.inFlight - report.inFlight - report.expired);
    const elapsedMs = nowMs - this.checkedAtMs;
    this.#flightTime.add({ inFlight: this.inFlight, ended, elapsedMs, quickLimit });
    this.isAtLimit = report.due >= limit;
    const isCut = this.lane === 'fast' && this.isAtLimit && isCutByAccount;
    this.#noteHanging(report.stuck, limit, ended, leasedDue);
    this.#isFailing = report.failing;
    this.grownLimit = report.failing ? FIRST_LIMIT : this.grownLimit + GROWTH * ended;
    this.lowWaterMark = report.lowWaterMark;
    this.checkedAtMs = nowMs;
    this.setInFlight(report.inFlight + leasedDue, isCut);
    const hasUnleasedDue = Math.min(report.due, limit) > this.inFlight;
    this.checkAtMs = nowMs + (hasUnleasedDue ? CHECK_MS_MIN : this.#nextCheckMs(report));
  }

  /** @param isCut deliveries wait because the account may have no more in flight. */
  setInFlight(inFlight: number, isCut: boolean): void {
    this.account.inFlight += inFlight - this.inFlight;
    this.account.busyWebhooks += Number(inFlight > 0) - Number(this.inFlight > 0);
    this.account.cutWebhooks += Number(isCut) - Number(this.#isCut);
    this.inFlight = inFlight;
    this.#isCut = isCut;
  }

  /**
   * A time-out also ends an attempt. So a hang is over only when no attempt is stuck, the relay has then
   * leased a due delivery, and an attempt has then ended.
   */
  #noteHanging(stuck: number, limit: number, ended: number, leasedDue: number): void {
    if (stuck > 0) {
      this.#hangs ||= stuck >= Math.min(HANGS_AT_STUCK, limit / 2);
      this.#leasedSinceStuck = false;
    } else {
      if (this.#leasedSinceStuck && ended > 0) this.#hangs = false;
      this.#leasedSinceStuck ||= leasedDue > 0;
    }
  }

  #nextCheckMs({ nextDueInMs }: WebhookReport): number {
    if (this.isAtLimit) {
      const checkMs = this.#flightTime.meanMs(this.inFlight) * AT_LIMIT_CHECK_FRACTION;
      return Math.min(CHECK_MS_MAX, Math.max(CHECK_MS_MIN, checkMs));
    }
    const inFlightCheckMs = this.inFlight > 0 ? CHECK_MS_MAX : Infinity;
    return Math.min(inFlightCheckMs, untilDueMs(nextDueInMs));
  }
}

/** Time until the next delivery comes within `LOOK_AHEAD_MS`, or until it is due if it is within already. */
function untilDueMs(nextDueInMs: number | null): number {
  if (nextDueInMs === null) return Infinity;
  return nextDueInMs > LOOK_AHEAD_MS ? nextDueInMs - LOOK_AHEAD_MS : nextDueInMs;
}
