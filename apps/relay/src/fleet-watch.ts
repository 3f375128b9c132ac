import type { Fleet } from '@postrider/store';

/** Workers announce themselves at the same interval. */
const EVERY_MS = 1_000;

/**
 * Counts the attempts that all workers together can have in flight.
 * @param slotsPerWorker used while no worker has announced itself, as when everything starts together
 */
export function createFleetWatch(fleet: Pick<Fleet, 'slots'>, slotsPerWorker: number) {
  let slots = 0;
  return {
    slots: () => (slots > 0 ? slots : slotsPerWorker),
    /** Runs once. @returns the pause before the next run, in milliseconds. */
    async run(): Promise<number> {
      slots = await fleet.slots();
      return EVERY_MS;
    },
  };
}
