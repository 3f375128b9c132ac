/**
 * The end of `npm test`, from Jest's JSON result: a line for each test that is still to be written, then the numbers.
 * What is to be written counts as skipped: tools read the last line, `N passed, N failed, N skipped`.
 */
export function summaryOf(result) {
  const toDo = result.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'todo')
    .map(({ fullName }) => `[test] to do: ${fullName}`)
    .sort();
  // A file that could not even be loaded has no test to count, and is one failure.
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  const skipped = result.numPendingTests + result.numTodoTests;
  const numbers = `${result.numPassedTests} passed, ${failed} failed, ${skipped} skipped`;
  return [...toDo, numbers].join('\n');
}
