import { z } from 'zod';

const isoTime = z.iso.datetime({ offset: true });

/** Reads a time in ISO 8601 with its offset, or a date as its start in UTC. @returns null for other text */
export function parseIsoMoment(written: string): Date | null {
  return parseIsoTime(/^\d{4}-\d\d-\d\d$/.test(written) ? `${written}T00:00:00Z` : written);
}

/**
 * Reads a time in ISO 8601 with its offset. Returns null for other text. Also returns null for a time before
 * the year 0001 or after 9999 in UTC, which Postgres does not read. An offset can move a time there.
 */
export function parseIsoTime(written: string): Date | null {
  if (!isoTime.safeParse(written).success) return null;
  const moment = new Date(written);
  const year = moment.getUTCFullYear();
  return year >= 1 && year <= 9_999 ? moment : null;
}
