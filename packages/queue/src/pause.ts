import { setTimeout as delay } from 'node:timers/promises';

/** Waits. Resolves early when `stopped` is aborted. */
export async function pause(ms: number, stopped: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: stopped }).catch(() => undefined);
}
