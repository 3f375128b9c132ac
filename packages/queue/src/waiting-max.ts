import type { QueueKey } from './jobs.ts';

/** Waiting jobs per queue: enough to keep the workers busy, and few to lose when Redis loses its data. */
const WAITING_MAX = 128;
/**
 * The fast lane may hold this part of the fleet's slots, if it is more: 128 for each worker with the default
 * settings. In the slow lane an attempt may take ten seconds, so more would wait past their leases.
 */
const WAITING_PART = 1 / 6;

/** The relay fills a queue up to this number of waiting jobs. @param fleetSlots slots of all workers */
export function waitingMax(queue: QueueKey, fleetSlots: number): number {
  return Math.max(WAITING_MAX, queue === 'fast' ? Math.floor(fleetSlots * WAITING_PART) : 0);
}
