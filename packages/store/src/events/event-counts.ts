import { LIMITS } from '@postrider/domain';
import type { AccountId, DomainId, EmailId, EventType } from '@postrider/domain';
import { runOn } from '../db/database.ts';
import type { Database } from '../db/database.ts';
import { rangeOf, rangeValues } from './events.ts';
import { createSettledPosition } from './settled-position.ts';
import { countEvents } from './sql/count-events.ts';

export interface EventCountRequest {
  readonly types: readonly EventType[];
  /** Recorded at this time or later. */
  readonly since: Date;
  /** Recorded before this time. */
  readonly until: Date;
  /** null: not by period. Weeks begin on Monday. */
  readonly period: 'hour' | 'day' | 'week' | 'month' | null;
  /** Periods begin in this time zone: a name of the IANA database. */
  readonly timeZone: string;
  readonly byDomain: boolean;
  readonly byEmail: boolean;
  /** Count only the mail of these domains. null: of all. */
  readonly domainIds: readonly DomainId[] | null;
  /** Count only these messages. null: all. */
  readonly emailIds: readonly EmailId[] | null;
}

/** How many events of a type there are: in total, or for one combination of period, domain and message. */
export interface EventCount {
  /** `any_bounce`: `email.bounced` and `email.soft_bounced` together. */
  readonly type: EventType | 'any_bounce';
  /** True: the total of this type. Period, domain and message are null then. */
  readonly isTotal: boolean;
  /** The beginning of the period as local time, `2026-03-01T00:00:00`; null without periods. */
  readonly period: string | null;
  /**
   * null in totals, without `byDomain`, and when the account does not have the domain of the message (any
   * more).
   */
  readonly domainId: DomainId | null;
  readonly domainName: string | null;
  /** null in totals and without `byEmail`. */
  readonly emailId: EmailId | null;
  readonly events: number;
  /** The number of sent messages that these events are about. */
  readonly emails: number;
}

export type EventCounts =
  | { readonly kind: 'counted'; readonly counts: readonly EventCount[] }
  /** The range has more than `LIMITS.metricEvents` events. */
  | { readonly kind: 'too-many' }
  | { readonly kind: 'unknown-time-zone' };

/** Postgres: invalid_parameter_value. */
const INVALID_PARAMETER = '22023';

export type EventCountStore = ReturnType<typeof createEventCountStore>;

/** Counts events. One count reads at most `LIMITS.metricEvents` events. */
export function createEventCountStore(db: Database) {
  const settledPosition = createSettledPosition(db.pool);
  return {
    /**
     * Returns at most `LIMITS.metricEntries` + 1 combinations of period, domain and message. The caller
     * refuses an answer that has the extra one.
     */
    async count(accountId: AccountId, request: EventCountRequest): Promise<EventCounts> {
      // Up to the settled position, no open transaction can add an event.
      const range = await rangeOf(db, request, { after: 0n, last: await settledPosition() });
      const values = [
        ...rangeValues(accountId, request.types, request, range, LIMITS.metricEvents + 1),
        request.period,
        request.timeZone,
        request.byDomain,
        request.byEmail,
        request.domainIds,
        request.emailIds,
        LIMITS.metricEntries + 1,
      ];
      try {
        const rows = await runOn<EventCount & { readonly isWhole: boolean }>(db.pool, countEvents, values);
        // `isWhole` is false when the range has more events than the statement reads.
        if (rows.some(({ isWhole }) => !isWhole)) return { kind: 'too-many' };
        // The last row has no events: it only says whether the range was small enough.
        return { kind: 'counted', counts: rows.filter(({ events }) => events > 0) };
      } catch (error) {
        if ((error as { code?: unknown }).code === INVALID_PARAMETER) return { kind: 'unknown-time-zone' };
        throw error;
      }
    },
  };
}
