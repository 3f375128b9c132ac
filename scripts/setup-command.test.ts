import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';

// By its address: TypeScript has no types of a script.
const { during, run, SetupError } = (await import(new URL('setup-command.mjs', import.meta.url).href)) as {
  during: <T>(words: string, work: () => Promise<T>) => Promise<T>;
  run: (command: string, args: readonly string[], options: { stdio: 'ignore' }) => Promise<void>;
  SetupError: new (message: string) => Error;
};

beforeEach(() => void jest.useFakeTimers());
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

test('a step of the set-up is named at once, and again every 2.5 seconds', async () => {
  const lines: unknown[] = [];
  jest.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(line) > 0);
  const step = Promise.withResolvers<number>();
  const result = during('building the programs', () => step.promise);
  expect(lines).toEqual(['[setup] building the programs\n']);
  jest.advanceTimersByTime(5_000);
  expect(lines.slice(1)).toEqual([
    '[setup] still at it: building the programs\n',
    '[setup] still at it: building the programs\n',
  ]);
  step.resolve(7);
  expect(await result).toBe(7);
  jest.advanceTimersByTime(10_000);
  expect(lines).toHaveLength(3);
});

test('a command that is not there is a fault of the set-up', async () => {
  jest.useRealTimers();
  const words = new SetupError('no-such-command does not run here (ENOENT)');
  await expect(run('no-such-command', [], { stdio: 'ignore' })).rejects.toEqual(words);
});
