import type { Receipt } from '../harness/checker/history.ts';
import type { Experiment } from '../harness/experiment.ts';
import { clockOff, lacksFaketime } from '../harness/servers/faketime.ts';
import { TIMES } from '../harness/times.ts';
import type { World } from '../harness/world/world.ts';
import { failingFirst } from './failing-first.ts';

const HOUR_MS = 3_600_000;
const EVENTS = 20;
/** A lost job comes back when its lease ends. The rest is for a busy machine. */
const RETRIED_WITHIN_MS = 2 * TIMES.leaseSeconds * 1_000;
const CLOCKS = [
  { role: 'relay', offset: '+1h', signedOffHours: 0 },
  { role: 'relay', offset: '-1h', signedOffHours: 0 },
  { role: 'worker', offset: '+1h', signedOffHours: 1 },
  { role: 'worker', offset: '-1h', signedOffHours: -1 },
] as const;

export const clocksOffByAnHour: Experiment = {
  number: 23,
  title: 'the clock of a relay, then of a worker, an hour fast and an hour slow',
  shows:
    'no retry comes early, none is later than two leases, none is lost; only signatures of that worker have a wrong time',
  runs: 'long',
  signatureOffMs: HOUR_MS,
  lacks: lacksFaketime,
  async run(world) {
    const endpoint = await world.endpoint();
    // Each event has a retry, which a wrong clock could start early or never.
    endpoint.reacts(failingFirst(1));
    for (const { role, offset, signedOffHours } of CLOCKS) {
      const before = endpoint.receipts.length;
      const env = clockOff(offset);
      const relay = await world.start('relay', role === 'relay' ? { env } : {});
      const worker = await world.start('worker', role === 'worker' ? { env } : {});
      await world.producer.record(world.scaled(EVENTS));
      await world.drained();
      await world.stop(relay);
      await world.stop(worker);
      const receipts = endpoint.receipts.slice(before);
      claimSignedOff(world, `${role} at ${offset}`, receipts, signedOffHours);
      claimRetriedInTime(world, `${role} at ${offset}`, receipts);
    }
  },
};

function claimSignedOff(world: World, clock: string, receipts: readonly Receipt[], hours: number): void {
  const seen = new Set(
    receipts.map(({ signedAt, arrivedAtMs }) =>
      Math.round(((signedAt ?? NaN) * 1000 - arrivedAtMs) / HOUR_MS),
    ),
  );
  const saw = [...seen].map((off) => off + 0).join(' '); // no -0
  world.claim(`${clock}: signatures are ${hours} hours off`, saw === String(hours), saw);
}

function claimRetriedInTime(world: World, clock: string, receipts: readonly Receipt[]): void {
  const arrivals = Map.groupBy(receipts, ({ eventId }) => eventId);
  const gaps = [...arrivals.values()].map(
    ([first, second]) => (second?.arrivedAtMs ?? NaN) - (first?.arrivedAtMs ?? NaN),
  );
  const latest = Math.max(...gaps);
  world.claim(
    `${clock}: no retry is later than two leases`,
    latest <= RETRIED_WITHIN_MS,
    `${Math.round(latest)} ms`,
  );
}
