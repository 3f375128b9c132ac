import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Files with mode 0600. They are replaced in one step, so no reader finds one half-written. */
const OWN = { mode: 0o600, flag: 'wx' };

export function writePrivate(file: string, text: string): void {
  drafted(file, text, (draft) => renameSync(draft, file));
}

/** @returns false when the file exists already; it then stays unchanged. */
export function createPrivate(file: string, text: string): boolean {
  return drafted(file, text, (draft) => {
    try {
      linkSync(draft, file);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  });
}

/** The text of the file, or null when it does not exist. */
export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function drafted<T>(file: string, text: string, place: (draft: string) => T): T {
  const draft = `${file}.${process.pid}.new`;
  rmSync(draft, { force: true });
  try {
    writeFileSync(draft, text, OWN);
    return place(draft);
  } finally {
    rmSync(draft, { force: true });
  }
}
