/** True for an error of the operating system, with this code if one is given. */
export function isErrno(error: unknown, code?: string): error is NodeJS.ErrnoException {
  const { code: its, syscall } = error as Partial<NodeJS.ErrnoException>;
  return syscall !== undefined && (code === undefined || its === code);
}

/** For `catch`: null for a missing file or folder. @throws any other error */
export function unlessMissing(error: unknown): null {
  if (isErrno(error, 'ENOENT')) return null;
  throw error;
}
