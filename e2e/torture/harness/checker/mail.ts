import type { History, Violation } from './history.ts';

/** I1 for mail: each message is sent, and the provider has it. */
export function findLostMail({ store, handOvers }: History): Violation[] {
  const handedOver = new Set(handOvers);
  return store.emails.flatMap(({ id, status }): Violation[] => {
    if (status === 'failed') return [{ invariant: 'I1', text: `email ${id} was given up` }];
    if (status !== 'sent' || handedOver.has(id)) return [];
    return [
      { invariant: 'I1', text: `the store says that email ${id} was sent, but the provider never got it` },
    ];
  });
}

/** I2 for mail: the provider gets a message once more only for a fault that met it in flight. */
export function findRepeatedMail({ handOvers, faults }: History): Violation[] {
  const excuses = faults.filter(({ mayRepeat }) => mayRepeat).flatMap(({ mailInFlight }) => mailInFlight);
  const allowed = Map.groupBy(excuses, (id) => id);
  return [...Map.groupBy(handOvers, (id) => id)].flatMap(([id, { length: times }]): Violation[] => {
    const timesMax = 1 + (allowed.get(id)?.length ?? 0);
    if (times <= timesMax) return [];
    return [{ invariant: 'I2', text: `email ${id} was handed over ${times} times, and ${timesMax} allowed` }];
  });
}
