import { z } from 'zod';

/** With an offset, with `Z`, or with neither: what AWS writes without a zone is UTC. */
const isoTime = z.iso.datetime({ offset: true, local: true });
const ZONE = /(?:Z|[+-]\d\d:\d\d)$/;

/** The length of `2026-11-20T10:15:30.123Z`; years before 0 and after 9999 are written longer. */
const utcLength = 24;

/** The same moment in the one form that leaves the service: ISO 8601 UTC with milliseconds. Null when it is no such moment. */
export function utcTimestamp(text: string): string | null {
  if (!isoTime.safeParse(text).success) return null;
  const time = new Date(ZONE.test(text) ? text : `${text}Z`);
  if (Number.isNaN(time.getTime())) return null;
  const utc = time.toISOString();
  return utc.length === utcLength ? utc : null;
}
