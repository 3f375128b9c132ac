/** What `npm start` says: lines of `[topic] words`. */
export interface Terminal {
  say(topic: string, words: string): void;
  /** Text that stands by itself. */
  print(text: string): void;
  /** Runs `work`, and says what is going on when that takes longer than a second. */
  during<T>(words: string, work: () => Promise<T>): Promise<T>;
}

const PATIENCE_MS = 1_000;

export function createTerminal(): Terminal {
  // Whoever read our lines may be gone; that must not end what they started.
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
