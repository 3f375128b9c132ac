import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { roleOf, terminalText } from './log-line.ts';

/** The terminal shows a repeated line at most once in this time. An outage repeats the same line. */
const REPEAT_AFTER_MS = 10_000;
/** After so many different lines the log forgets when it showed them. */
const REMEMBERED_LINES_MAX = 1_000;

type Show = (words: string, role: string | null) => void;

/**
 * Writes the output of a process to `file`, and keeps the file of the last start as `FILE.1`. Passes warnings
 * and errors to `show`, as text, with the role that wrote them if the line names it.
 */
export class ChildLog {
  readonly #output: WriteStream;
  readonly #show: Show;
  readonly #shownAt = new Map<string, number>();
  #lastErrorLine: string | null = null;

  constructor(file: string, show: Show) {
    this.#show = show;
    mkdirSync(dirname(file), { recursive: true });
    if (existsSync(file)) renameSync(file, `${file}.1`);
    this.#output = createWriteStream(file);
    this.#output.on('error', ({ message }) =>
      this.#showOnce(`log file: ${message}; it gets no more lines`, null),
    );
  }

  /** Records the output until the process ends. */
  follow(stdout: Readable, stderr: Readable): void {
    createInterface({ input: stdout }).on('line', (line) => {
      this.#write(line);
      const words = terminalText(line);
      if (words !== null) this.#showOnce(words, roleOf(line));
    });
    createInterface({ input: stderr }).on('line', (line) => {
      this.#write(line);
      // Node prints the rest of an error and its own version after the message: only the file gets them.
      if (/^[\s}]|^$|^Node\.js v|^\(Use `node /.test(line)) return;
      // `(node:PID) …` is a warning of Node.
      if (line.startsWith('(node:')) this.#showOnce(line, null);
      else this.noteError(line);
    });
  }

  /** Shows the line. It becomes `lastErrorLine`. */
  noteError(line: string): void {
    this.#lastErrorLine = line;
    this.#showOnce(line, null);
  }

  /** The last line that `noteError` got, or null. */
  lastErrorLine(): string | null {
    return this.#lastErrorLine;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#output.end(() => resolve()));
  }

  /** Does nothing after an error of the file, such as a full disk, and after `close`. */
  #write(line: string): void {
    if (this.#output.writable) this.#output.write(`${line}\n`);
  }

  #showOnce(words: string, role: string | null): void {
    const now = performance.now();
    if (now - (this.#shownAt.get(words) ?? -Infinity) < REPEAT_AFTER_MS) return;
    if (this.#shownAt.size > REMEMBERED_LINES_MAX) this.#shownAt.clear();
    this.#shownAt.set(words, now);
    this.#show(words, role);
  }
}
