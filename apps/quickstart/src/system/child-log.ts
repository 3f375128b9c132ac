import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { noteworthy, serviceOf } from './log-line.ts';

/**
 * The terminal shows a repeated line at most once in this time. An outage repeats the same line. After 1,000
 * different lines it forgets them all.
 */
const REPEAT_AFTER_MS = 10_000;

type Show = (words: string, service: string | null) => void;

/** A longer file becomes `FILE.1`. So a run takes at most twice this much of the disk. */
export const FILE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Writes the output of a process to `file`, and keeps the file of the last start as `FILE.1`. Passes warnings
 * and errors to `show`, as text, with the role that wrote them if the line names it.
 */
export class ChildLog {
  readonly #file: string;
  #output: WriteStream;
  #bytes = 0;
  readonly #show: Show;
  readonly #shownAt = new Map<string, number>();
  #lastErrorLine: string | null = null;

  constructor(file: string, show: Show) {
    this.#file = file;
    this.#show = show;
    mkdirSync(dirname(file), { recursive: true });
    this.#output = this.#open();
  }

  /** Records the output until the process ends. */
  follow(stdout: Readable, stderr: Readable): void {
    createInterface({ input: stdout }).on('line', (line) => {
      this.#write(line);
      const words = noteworthy(line);
      if (words !== null) this.#showOnce(words, serviceOf(line));
    });
    createInterface({ input: stderr }).on('line', (line) => {
      this.#write(line);
      if (/^\s|^$/.test(line)) return; // part of a stack trace: only the file gets it
      this.noteError(line);
    });
  }

  /** Shows the line. It becomes `lastErrorLine`. */
  noteError(line: string): void {
    this.#lastErrorLine = line;
    this.#showOnce(line, null);
  }

  /** The last error, or null. */
  lastErrorLine(): string | null {
    return this.#lastErrorLine;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#output.end(() => resolve()));
  }

  #open(): WriteStream {
    if (existsSync(this.#file)) renameSync(this.#file, `${this.#file}.1`);
    const output = createWriteStream(this.#file);
    output.on('error', ({ message }) => this.#showOnce(`log file: ${message}; it gets no more lines`, null));
    return output;
  }

  /** Does nothing after an error, such as a full disk, and after `close`. */
  #write(line: string): void {
    if (!this.#output.writable) return;
    if (this.#bytes > FILE_BYTES_MAX) {
      this.#output.end();
      this.#output = this.#open();
      this.#bytes = 0;
    }
    this.#output.write(`${line}\n`);
    this.#bytes += Buffer.byteLength(line) + 1;
  }

  #showOnce(words: string, service: string | null): void {
    const now = performance.now();
    if (now - (this.#shownAt.get(words) ?? -Infinity) < REPEAT_AFTER_MS) return;
    if (this.#shownAt.size > 1_000) this.#shownAt.clear();
    this.#shownAt.set(words, now);
    this.#show(words, service);
  }
}
