import { expect, test } from '@jest/globals';

// By its address: TypeScript has no types of a script.
const script = new URL('test-summary.mjs', import.meta.url).href;
const { summaryOf } = (await import(script)) as { summaryOf: (result: object) => string };

const numbers = {
  numPassedTests: 5,
  numFailedTests: 1,
  numRuntimeErrorTestSuites: 2,
  numPendingTests: 3,
  numTodoTests: 2,
};

test('counts a file that could not be loaded as failed, and a test still to be written as skipped', () => {
  expect(summaryOf(numbers)).toBe('5 passed, 3 failed, 5 skipped');
});
