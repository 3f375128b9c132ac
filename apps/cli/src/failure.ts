/** The command failed. The exit code is 1, and `message` is one line on stderr. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** The command has wrong arguments. The exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
