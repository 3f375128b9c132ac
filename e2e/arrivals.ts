import { expect } from '@jest/globals';
import { runs } from '@postrider/testing';
import type { System } from './start-system.ts';

/** The number of events while processes or servers are killed again and again. */
export const EVENTS = runs({ usual: 160, long: 20_000 });
export const TIMEOUT_MS = runs({ usual: 240_000, long: 3_600_000 });

/** How often each event arrived. */
export function arrivals({ receiver }: System): Map<string, number> {
  const counts = new Map<string, number>();
  for (const request of receiver.requests) {
    const id = String(request.headers['service-event-id']);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Expects each of these events to have arrived at least once. */
export function expectNoneLost(system: System, ids: readonly string[]): void {
  const arrived = arrivals(system);
  expect(ids.filter((id) => !arrived.has(id))).toEqual([]);
}

export async function untilArrived({ receiver }: System, count: number): Promise<void> {
  await receiver.waitForRequests(count, { withinMs: TIMEOUT_MS / 4 });
}
