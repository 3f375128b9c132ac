import { setTimeout as delay } from 'node:timers/promises';

/** Cut short when `stopped` is aborted, which is the same to the caller. */
export async function pause(ms: number, stopped: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: stopped }).catch(() => undefined);
}
