import { waitFor } from './wait-for.ts';

const HOUR_MS = 3_600_000;
/** Each of these tests takes less time. */
const MARGIN_MS = 30_000;

/** Waits for the next hour when it is near, and so for the next day in UTC. A test then runs within one hour. */
export async function awayFromNewHour(): Promise<void> {
  await waitFor(() => Date.now() % HOUR_MS < HOUR_MS - MARGIN_MS, { what: 'the next hour' });
}
