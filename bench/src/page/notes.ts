import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Notes } from './method-page.ts';

/** @param folder contains one file per figure, such as `drain.md` */
export function readNotes(folder: string): Notes {
  const files = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
  return new Map(
    files.sort().map((name) => [basename(name, '.md'), readFileSync(join(folder, name), 'utf8')] as const),
  );
}
