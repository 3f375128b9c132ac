import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Terminal } from './terminal.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('while a step takes long, a line says every two seconds what is happening', async () => {
  const lines: string[] = [];
  const terminal = new Terminal({ write: (line: string) => lines.push(line) > 0 });
  const step = Promise.withResolvers<string>();
  jest.advanceTimersByTime(1_900); // a silent time before the step counts, too
  const result = terminal.during('migrating the database', () => step.promise);
  jest.advanceTimersByTime(250);
  expect(lines).toEqual(['[start] migrating the database …\n']);
  terminal.say('start', 'something else');
  jest.advanceTimersByTime(1_750);
  expect(lines).toHaveLength(2);
  jest.advanceTimersByTime(500);
  expect(lines).toHaveLength(3);
  step.resolve('done');
  expect(await result).toBe('done');
  jest.advanceTimersByTime(10_000);
  expect(lines).toHaveLength(3);
});
