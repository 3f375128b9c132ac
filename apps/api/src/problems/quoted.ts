const LENGTH_MAX = 100;

/** A value of a parsed body as JSON, for a `detail`: on one line, without control characters, cut to a readable length. */
export function quoted(value: unknown): string {
  return shortened(JSON.stringify(value));
}

/** Cuts between characters, never inside one. */
export function shortened(text: string): string {
  // A character takes two code units at the most.
  const characters = Array.from(text.slice(0, 2 * LENGTH_MAX + 2)).slice(0, LENGTH_MAX);
  const head = characters.join('');
  return head.length < text.length ? `${head}…` : text;
}
