import {
  accessSync,
  constants,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Makes the file in one step, so that no reader finds it half-written. Returns false when it exists. */
export function createFile(file: string, text: string, mode = 0o644): boolean {
  return fromDraft(file, text, mode, (draft) => {
    try {
      linkSync(draft, file);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  });
}

/** Makes or replaces the file in one step. */
export function replaceFile(file: string, text: string, mode: number): void {
  fromDraft(file, text, mode, (draft) => renameSync(draft, file));
}

/** The text of the file, or null when it does not exist. */
export function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}

export function statOrNull(path: string): Stats | null {
  return statSync(path, { throwIfNoEntry: false }) ?? null;
}

/** @param mode such as `constants.X_OK` */
export function canAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

export function foldersOnPath(): string[] {
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
}

/** The path of the first of these programs that is on PATH, or null. */
export function onPath(...programs: readonly string[]): string | null {
  const folders = foldersOnPath();
  const paths = programs.flatMap((program) => folders.map((folder) => join(folder, program)));
  return paths.find((path) => canAccess(path, constants.X_OK)) ?? null;
}

/** A name beside `file` that no other process uses. */
function uniqueNameFor(file: string): string {
  return `${file}.${process.pid}-${Math.random().toString(36).slice(2)}`;
}

/** Writes the text to a draft beside `file`. `place` links or renames the draft to `file`. */
function fromDraft<T>(file: string, text: string, mode: number, place: (draft: string) => T): T {
  const draft = uniqueNameFor(file);
  try {
    writeFileSync(draft, text, { mode, flag: 'wx' });
    return place(draft);
  } finally {
    rmSync(draft, { force: true });
  }
}
