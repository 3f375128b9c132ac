/** The SQLSTATE or connection error code of an error or of what caused it, for a metric's label. */
export function errorCodeOf(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') return current.code;
  }
  return 'none';
}
