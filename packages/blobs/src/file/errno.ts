import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

/** True for an error of the operating system, with this code if one is given. */
export function isErrno(error: unknown, code?: string): error is NodeJS.ErrnoException {
  const { code: actual, syscall } = error as Partial<NodeJS.ErrnoException>;
  return syscall !== undefined && (code === undefined || actual === code);
}

/** Turns the error of a missing file or folder into null. Pass it to `catch`. @throws any other error */
export function unlessMissing(error: unknown): null {
  if (isErrno(error, 'ENOENT')) return null;
  throw error;
}

/** @returns null when there is no such file */
export async function openIfThere(path: string, flags: 'r' | 'r+'): Promise<FileHandle | null> {
  return open(path, flags).catch(unlessMissing);
}
