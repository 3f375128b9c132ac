import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { noteworthy } from './log-line.ts';

export interface ChildLog {
  /** Records the output until the process ends. */
  follow(stdout: Readable, stderr: Readable): void;
  /** The last line on stderr, or null. */
  lastComplaint(): string | null;
  close(): Promise<void>;
}

/** The terminal shows a repeated line at most once in this time. An outage repeats the same line. */
const REPEAT_AFTER_MS = 10_000;

/**
 * Writes the output of a process to `file`, and keeps the file of the last start as `FILE.1`. Passes warnings
 * and errors to `show`, as text.
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
        if (/^\s|^$/.test(line)) return; // part of a stack trace: only the file gets it
        complaint = line;
        showOnce(line);
      });
    },
    lastComplaint: () => complaint,
    close: () => new Promise((resolve) => output.end(() => resolve())),
  };
}
