import { waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { keyOf } from '../checker/history.ts';
import type { Receipt } from '../checker/history.ts';
import type { SteppedClock } from '../servers/faketime.ts';
import type { Faults } from './faults.ts';
import { readInFlight } from './in-flight.ts';
import type { OpenStore } from '../../../open-store.ts';

const WITHIN_MS = 60_000;

interface Surroundings {
  readonly clock: SteppedClock;
  readonly store: Pick<OpenStore, 'query' | 'count'>;
  readonly receipts: readonly Receipt[];
  readonly processes: readonly SystemProcess[];
  readonly faults: Faults;
}

/**
 * Steps the clock of Postgres. A step forwards ends all leases at once, and the relay claims the deliveries
 * again. Then the attempts in flight cannot be known. So the step falls between two statements, and it ends
 * when every request in flight has arrived.
 */
export async function stepClock(offMs: number, around: Surroundings): Promise<void> {
  const { clock, faults } = around;
  const stepMs = offMs - clock.offMs;
  const name = `the clock of Postgres steps by ${stepMs / 1000} s`;
  const wish = { mayRepeat: stepMs > 0, clockStepMs: stepMs };
  if (stepMs <= 0) {
    await faults.strike(name, wish, () => clock.set(offMs));
    return;
  }
  const frozen = around.processes.filter((process) => process.running);
  const thaw = (): void => frozen.forEach((process) => process.signal('SIGCONT'));
  try {
    frozen.forEach((process) => process.signal('SIGSTOP'));
    await betweenStatements(around);
    await faults.strike(name, wish, async () => {
      const inFlight = await readInFlight(around.store, around.receipts);
      clock.set(offMs);
      thaw();
      await arrived(inFlight, around);
    });
  } finally {
    thaw();
  }
}

async function betweenStatements({ store }: Surroundings): Promise<void> {
  const busy = `pg_stat_activity
    where datname = current_database() and application_name like 'postrider%' and state = 'active'`;
  await waitFor(async () => (await store.count(busy)) === 0, {
    what: 'the last statements to end',
    timeoutMs: WITHIN_MS,
  });
}

async function arrived(
  inFlight: Awaited<ReturnType<typeof readInFlight>>,
  { receipts }: Surroundings,
): Promise<void> {
  const hasArrived = ({ key, attempts }: (typeof inFlight)[number]): boolean =>
    receipts.filter((receipt) => keyOf(receipt) === key).length > attempts;
  await waitFor(() => inFlight.every(hasArrived), {
    what: 'the requests in flight to arrive',
    timeoutMs: WITHIN_MS,
  });
}
