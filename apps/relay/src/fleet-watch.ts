import type { Fleet } from '@postrider/store';

/** Knows how many attempts all workers together can have in flight. */
export interface FleetWatch {
  slots(): number;
  /** One turn. @returns the pause before the next, in milliseconds */
  run(): Promise<number>;
}

/** As often as workers say that they run. */
const EVERY_MS = 1_000;

/** @param slotsOfOne of one worker: the fleet counts as one while none has been heard of, as on a start of everything */
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
