const LENGTH_MAX = 100;
const ENTRIES_MAX = 20;
const DEPTH_MAX = 3;

/**
 * A value of a parsed body as JSON, for a `detail`: on one line, without control characters, cut to a readable
 * length. Only as deep as can be read, too: a body may nest deeper than JSON.stringify can follow.
 */
export function quoted(value: unknown): string {
  return shortened(rendered(value, DEPTH_MAX));
}

/** Cuts between characters, never inside one. */
export function shortened(text: string): string {
  // A character takes two code units at the most.
  const characters = Array.from(text.slice(0, 2 * LENGTH_MAX + 2)).slice(0, LENGTH_MAX);
  const head = characters.join('');
  return head.length < text.length ? `${head}…` : text;
}

function rendered(value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (depth === 0) return '…';
  if (Array.isArray(value)) {
    const entries = value.slice(0, ENTRIES_MAX).map((entry) => rendered(entry, depth - 1));
    return `[${entries.join()}]`;
  }
  const entries = Object.entries(value).slice(0, ENTRIES_MAX);
  return `{${entries.map(([name, entry]) => `${JSON.stringify(name)}:${rendered(entry, depth - 1)}`).join()}}`;
}
