import { waitFor } from './wait-for.ts';

const HOUR_MS = 3_600_000;
/** Longer than each test that calls this. */
const MARGIN_MS = 30_000;

/** Waits for the next hour when it is near. The test then runs within one hour, and so within one UTC day. */
export async function awayFromNewHour(): Promise<void> {
  await waitFor(() => Date.now() % HOUR_MS < HOUR_MS - MARGIN_MS, { what: 'the next hour' });
}
