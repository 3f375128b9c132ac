/*
 * A signature never expires, so an attacker could send a copy of a notification at any time. We store the id
 * of each notification for a limited time. After that, we refuse a copy because it is too old. SNS repeats a
 * notification for an hour at most. An operator may post one again days later, from a dead-letter queue
 * (docs/operations/deploy.md).
 */

/** An older notification is refused. */
export const NOTIFICATION_AGE_HOURS_MAX = 7 * 24;

/** Ids are stored for this long. The extra day covers clock differences between SNS, the API and Postgres. */
export const NOTIFICATION_ID_HOURS = NOTIFICATION_AGE_HOURS_MAX + 24;

/**
 * Notifications for an unknown message are stored for this long. A notification can arrive before the worker
 * commits the provider's answer. A worker that loses Postgres commits the answer when Postgres is back.
 */
export const UNCLAIMED_NOTIFICATION_HOURS = 24;
