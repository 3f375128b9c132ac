import { expect, test } from '@jest/globals';
import { ChargeQueues } from './charge-queues.ts';
import type { StoreCharge } from './charge-queues.ts';
import { SpentWindows } from './spent-windows.ts';

/** Three charges of one key, each with its time limit. The first is sent, and the others wait for it. */
function threeCharges() {
  const asked: StoreCharge[] = [];
  const answers: ((allowed: boolean) => void)[] = [];
  const queues = new ChargeQueues(
    (charge) => {
      asked.push(charge);
      return new Promise((resolve) => answers.push(resolve));
    },
    new SpentWindows(() => 0),
  );
  const charges = [1, 2, 3].map((cost) => {
    const time = new AbortController();
    const charged = queues.charge('key', cost, 60, time.signal);
    return { charged, expire: () => time.abort(new Error('too late')) };
  });
  return { asked, answers, charges };
}

/** Longer than any chain of promises takes. */
const settled = () => new Promise(setImmediate);

test('charges whose time limit is over are never sent to the store', async () => {
  const { asked, charges } = threeCharges();
  for (const { expire } of charges) expire();
  await expect(charges[0]?.charged).rejects.toThrow('too late');
  await settled();
  expect(asked).toEqual([{ key: 'key', cost: 1, limit: 60 }]);
});

test('the time limit of one charge fails no later charge of the same request', async () => {
  const { asked, answers, charges } = threeCharges();
  answers[0]?.(true);
  await settled();
  expect(asked.map(({ cost }) => cost)).toEqual([1, 5]);
  charges[1]?.expire();
  await settled();
  answers[1]?.(true);
  expect(await charges[2]?.charged).toBe(true);
});
