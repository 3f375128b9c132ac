import type { System } from '@postrider/testing';
import type { Receiver } from './receiver.ts';

/** Milliseconds from the moment the cause's commit was known to the caller to the arrival of the event's body. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const ARRIVAL_TIMEOUT_MS = 60_000;

/** Records events at a steady rate, a transaction each, and watches them arrive. */
export async function measureLatency(
  system: System,
  receiver: Receiver,
  options: { readonly perSecond: number; readonly count: number },
): Promise<Latency> {
  receiver.reset();
  const committed = new Map<string, number>();
  const begun = performance.now();
  const recording: Promise<unknown>[] = [];
  let failure: unknown = null;
  for (let index = 0; index < options.count; index += 1) {
    const dueMs = begun + (index * 1000) / options.perSecond - performance.now();
    if (dueMs > 0) await new Promise((resolve) => setTimeout(resolve, dueMs));
    recording.push(recordOne(system, committed).catch((error: unknown) => (failure = error)));
  }
  await Promise.all(recording);
  if (failure !== null) throw new Error('events could not be recorded at that rate', { cause: failure });
  await receiver.reached(options.count, ARRIVAL_TIMEOUT_MS);
  const sorted = [...committed]
    // An arrival can be seen before this process has read the commit's own answer: that is 0, not less.
    .map(([id, at]) => Math.max(0, (receiver.arrivals.get(id) ?? Number.NaN) - at))
    .sort((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), max: quantile(sorted, 1) };
}

async function recordOne(system: System, committed: Map<string, number>): Promise<void> {
  const [id] = await system.record(1);
  if (id !== undefined) committed.set(id, performance.now());
}

/** Of sorted values. */
export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}
