'use strict';
const { writeFileSync } = require('node:fs');

/**
 * Writes the line `N passed, N failed, N skipped` into the file that TEST_SUMMARY_FILE names. Jest's own `--json` fails
 * when a test throws an error that refers to itself.
 */
class Summary {
  onRunComplete(_contexts, results) {
    const file = process.env.TEST_SUMMARY_FILE;
    if (file !== undefined) writeFileSync(file, summaryOf(results));
  }
}

function summaryOf(results) {
  // A file that could not be loaded has no test to count. It is one failure.
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  const skipped = results.numPendingTests + results.numTodoTests;
  return `${results.numPassedTests} passed, ${failed} failed, ${skipped} skipped`;
}

module.exports = Summary;
