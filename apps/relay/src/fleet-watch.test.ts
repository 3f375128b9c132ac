import { expect, test } from '@jest/globals';
import { createFleetWatch } from './fleet-watch.ts';

test('the fleet’s slots are those that workers announce; without any, those of one worker', async () => {
  let announced = 0;
  const watch = createFleetWatch({ slots: async () => announced }, 768);
  expect(watch.slots()).toBe(768);
  await watch.run();
  expect(watch.slots()).toBe(768);
  announced = 1_536;
  await watch.run();
  expect(watch.slots()).toBe(1_536);
  announced = 0;
  await watch.run();
  expect(watch.slots()).toBe(768);
});
