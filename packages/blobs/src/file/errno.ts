/** True for an error of the operating system, with this code if one is given. */
export function isErrno(error: unknown, code?: string): error is NodeJS.ErrnoException {
  const { code: its, syscall } = error as Partial<NodeJS.ErrnoException>;
  return syscall !== undefined && (code === undefined || its === code);
}

/** Turns the error of a missing file or folder into null. Pass it to `catch`. @throws any other error */
export function unlessMissing(error: unknown): null {
  if (isErrno(error, 'ENOENT')) return null;
  throw error;
}
