/*
 * A signed notification is good for ever, so a copy of it could be sent again at any time. Its id is remembered, but not
 * for ever: it is refused by its age by then. SNS itself repeats a notification for hours at the most.
 */

/** Older than this a notification is not believed. */
export const NOTIFICATION_AGE_HOURS_MAX = 7 * 24;

/** How long its id is remembered: for as long, and for as much as the clocks of SNS, the API and Postgres may be apart. */
export const NOTIFICATION_ID_HOURS = NOTIFICATION_AGE_HOURS_MAX + 24;

/**
 * How long a notification is kept that names no message we know: the provider may be faster than the commit of its own
 * answer, but that commit is made within a lease, or never.
 */
export const UNCLAIMED_NOTIFICATION_HOURS = 1;
