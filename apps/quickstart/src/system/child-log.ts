import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { noteworthy } from './log-line.ts';

export interface ChildLog {
  /** Follows one life of the process. */
  follow(stdout: Readable, stderr: Readable): void;
  /** The last thing it said on stderr; null when it said nothing. */
  lastComplaint(): string | null;
  close(): Promise<void>;
}

/** An outage makes the same line again and again: the terminal shows it once in this time. */
const REPEAT_AFTER_MS = 10_000;

/**
 * Keeps all that a process writes in `file`; that of the last start is kept as `FILE.1`. What is a warning or worse is
 * passed to `show` as well, in words.
 */
export function createChildLog(file: string, show: (words: string) => void): ChildLog {
  mkdirSync(dirname(file), { recursive: true });
  if (existsSync(file)) renameSync(file, `${file}.1`);
  const output = createWriteStream(file);
  const shownAt = new Map<string, number>();
  let complaint: string | null = null;

  const showOnce = (words: string): void => {
    const now = performance.now();
    if (now - (shownAt.get(words) ?? -Infinity) < REPEAT_AFTER_MS) return;
    if (shownAt.size > 1_000) shownAt.clear();
    shownAt.set(words, now);
    show(words);
  };

  return {
    follow(stdout, stderr) {
      createInterface({ input: stdout }).on('line', (line) => {
        output.write(`${line}\n`);
        const words = noteworthy(line);
        if (words !== null) showOnce(words);
      });
      createInterface({ input: stderr }).on('line', (line) => {
        output.write(`${line}\n`);
        if (/^\s|^$/.test(line)) return; // a stack: the file has it
        complaint = line;
        showOnce(line);
      });
    },
    lastComplaint: () => complaint,
    close: () => new Promise((resolve) => output.end(() => resolve())),
  };
}
