import { answer, takingMs } from '@postrider/testing';
import type { Reaction } from '@postrider/testing';

/** The first attempts of each event fail, so that there are retries, and none is given up. */
export function failingFirst(times: number, afterMs = 0): Reaction {
  const met = new Map<unknown, number>();
  return ({ headers }) => {
    const id = headers['service-event-id'];
    const before = met.get(id) ?? 0;
    met.set(id, before + 1);
    return takingMs(afterMs, answer(before < times ? 503 : 200));
  };
}
