const CAUSES_MAX = 8;

/** The label of an error: its SQLSTATE or system code, or that of a cause. `other` when there is none. */
export function errorCode(error: unknown): string {
  let current = error;
  for (let depth = 0; current instanceof Error && depth < CAUSES_MAX; depth += 1) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code)) return code;
    current = current.cause;
  }
  return 'other';
}
