/** The command was understood and could not be done: exit code 1, and `message` in one line on stderr. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** The command was called wrongly: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
