import type { Fleet } from '@postrider/store';

/** The attempts that all workers together can have in flight. */
export interface FleetWatch {
  slots(): number;
  /** Runs once. @returns the pause before the next run, in milliseconds. */
  run(): Promise<number>;
}

/** Workers announce themselves at the same interval. */
const EVERY_MS = 1_000;

/** @param slotsPerWorker used while no worker has announced itself, as when everything starts together */
export function createFleetWatch(parts: {
  readonly fleet: Pick<Fleet, 'slots'>;
  readonly slotsPerWorker: number;
}): FleetWatch {
  let slots = 0;
  return {
    slots: () => (slots > 0 ? slots : parts.slotsPerWorker),
    async run() {
      slots = await parts.fleet.slots();
      return EVERY_MS;
    },
  };
}
