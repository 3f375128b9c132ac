/** Prints the lines of `npm start`: `[topic] words`. */
export interface Terminal {
  say(topic: string, words: string): void;
  /** Prints text without a topic. */
  print(text: string): void;
  /** Runs `work`, and prints `words` when it takes longer than a second. */
  during<T>(words: string, work: () => Promise<T>): Promise<T>;
}

const PATIENCE_MS = 1_000;

export function createTerminal(): Terminal {
  // A closed reader must not end the system.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const say = (topic: string, words: string) => void process.stdout.write(`[${topic}] ${words}\n`);
  return {
    say,
    print: (text) => void process.stdout.write(`${text}\n`),
    async during(words, work) {
      const timer = setTimeout(() => say('start', `${words} …`), PATIENCE_MS);
      try {
        return await work();
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
