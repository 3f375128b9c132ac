import { beforeEach, expect, test } from '@jest/globals';
import { type FailedStart, PartList, stoppingTogether } from './part-list.ts';

let steps: string[];
let warnings: string[];

beforeEach(() => {
  steps = [];
  warnings = [];
});

const list = () =>
  new PartList({ warn: (msg, fields) => warnings.push(`${msg} (${String(fields?.['part'])})`) });
const recorded = (name: string) => ({
  start: async () => void steps.push(`start ${name}`),
  stop: async () => void steps.push(`stop ${name}`),
});
const refused = { start: async () => Promise.reject(new Error('taken')) };

test('lists in a list start in order, and stop at the same time before what started earlier', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const one = list().add('a', recorded('a'));
  const two = list()
    .add('b', recorded('b'))
    .add('slow', { stop: () => opened });
  const whole = list()
    .add('database', recorded('database'))
    .add('roles', stoppingTogether([one, two]));
  await whole.start();
  const stopped = whole.stop(5_000);
  await new Promise(setImmediate);
  expect(steps).toEqual(['start database', 'start a', 'start b', 'stop a']); // `a` did not wait for `slow`
  open();
  await stopped;
  expect(steps.slice(4)).toEqual(['stop b', 'stop database']);
});

test('a part of an inner list that does not start is named, and what had started is stopped, also in that list', async () => {
  const one = list().add('a', recorded('a'));
  const two = list().add('b', recorded('b')).add('HTTP server', refused);
  const three = list().add('c', recorded('c'));
  const whole = list()
    .add('database', recorded('database'))
    .add('roles', stoppingTogether([one, two, three]));
  const failed = await whole.start().catch((error: unknown) => error as FailedStart);
  expect(failed).toMatchObject({ part: 'HTTP server', cause: new Error('taken') });
  await whole.stop(5_000);
  expect(steps).toEqual(['start database', 'start a', 'start b', 'stop a', 'stop b', 'stop database']);
});

test('a stop while an inner list starts begins no further part of any list', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const one = list()
    .add('a', { ...recorded('a'), start: () => opened })
    .add('b', recorded('b'));
  const whole = list().add('roles', stoppingTogether([one, list().add('c', recorded('c'))]));
  const started = whole.start();
  await whole.stop(5_000);
  open();
  await started;
  expect(steps).toEqual(['stop a']);
});

test('a part that hangs is cut short by name, in time for what all share to stop', async () => {
  const hanging = list().add('consumers', { stop: () => new Promise(() => undefined) });
  const whole = list()
    .add('database', recorded('database'))
    .add('roles', stoppingTogether([hanging]));
  await whole.start();
  await whole.stop(600);
  expect(steps).toEqual(['start database', 'stop database']);
  expect(warnings).toEqual(['stop cut short at the deadline (consumers)']);
});
