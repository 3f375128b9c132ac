import { expect, test } from '@jest/globals';

// By its address: TypeScript has no types of a script.
const script = new URL('test-summary.mjs', import.meta.url).href;
const { summaryOf } = (await import(script)) as { summaryOf: (result: object) => string };

const suite = (...assertionResults: object[]) => ({ assertionResults });
const numbers = {
  numPassedTests: 5,
  numFailedTests: 1,
  numRuntimeErrorTestSuites: 2,
  numPendingTests: 3,
  numTodoTests: 2,
};

test('a test that is still to be written is named, and counted as skipped in the last line', () => {
  const testResults = [
    suite({ status: 'todo', fullName: 'contract 8 Thread' }, { status: 'passed', fullName: 'passes' }),
    suite({ status: 'todo', fullName: 'contract 7.2 409 not-held' }),
  ];
  expect(summaryOf({ ...numbers, testResults }).split('\n')).toEqual([
    '[test] to do: contract 7.2 409 not-held',
    '[test] to do: contract 8 Thread',
    '5 passed, 3 failed, 5 skipped',
  ]);
});

test('with nothing left to write the summary is the last line alone', () => {
  expect(summaryOf({ ...numbers, numTodoTests: 0, testResults: [] })).toBe('5 passed, 3 failed, 3 skipped');
});
