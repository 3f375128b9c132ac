const PATIENCE_MS = 1_000;

/** Prints the lines of `npm start`: `[topic] words`. */
export class Terminal {
  constructor() {
    // A closed reader must not end the system.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  }

  say(topic: string, words: string): void {
    this.print(`[${topic}] ${words}`);
  }

  /** Prints text without a topic. */
  print(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  /** Runs `work`, and prints `words` when it takes longer than a second. */
  async during<T>(words: string, work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.say('start', `${words} …`), PATIENCE_MS);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  }
}
