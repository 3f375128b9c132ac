/** The last line of `npm test`, from Jest's JSON result: tools read `N passed, N failed, N skipped`. */
export function summaryOf(result) {
  // A file that could not even be loaded has no test to count, and is one failure.
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  const skipped = result.numPendingTests + result.numTodoTests;
  return `${result.numPassedTests} passed, ${failed} failed, ${skipped} skipped`;
}
