import type { Writable } from 'node:stream';

const SILENCE_MS_MAX = 2_000;
const CHECK_INTERVAL_MS = 250;

/** Prints the lines of `npm start`: `[topic] words`. */
export class Terminal {
  readonly #output: Pick<Writable, 'write'>;
  #printedAtMs = performance.now();

  constructor(output: Pick<Writable, 'write'> = process.stdout) {
    this.#output = output;
    // A closed reader must not end the system.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  }

  say(topic: string, words: string): void {
    this.print(`[${topic}] ${words}`);
  }

  /** Prints text without a topic. */
  print(text: string): void {
    this.#printedAtMs = performance.now();
    this.#output.write(`${text}\n`);
  }

  /** Runs `work`, and prints `words` whenever nothing was printed for two seconds. */
  async during<T>(words: string, work: () => Promise<T>): Promise<T> {
    const timer = setInterval(() => {
      if (performance.now() - this.#printedAtMs >= SILENCE_MS_MAX) this.say('start', `${words} …`);
    }, CHECK_INTERVAL_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }
}
