import { z } from 'zod';

/** Accepts an offset, `Z`, or no zone. AWS times without a zone are UTC. */
const isoTime = z.iso.datetime({ offset: true, local: true });
const ZONE = /(?:Z|[+-]\d\d:\d\d)$/;

/** The length of `2026-11-20T10:15:30.123Z`. Years before 0 and after 9999 are longer. */
const UTC_LENGTH = 24;

/** Converts a time to ISO 8601 UTC with milliseconds. Returns null for any other text. */
export function utcTimestamp(text: string): string | null {
  if (!isoTime.safeParse(text).success) return null;
  const time = new Date(ZONE.test(text) ? text : `${text}Z`);
  if (Number.isNaN(time.getTime())) return null;
  const utc = time.toISOString();
  return utc.length === UTC_LENGTH ? utc : null;
}
