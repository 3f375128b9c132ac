import { escapeTerminalControls } from '@postrider/domain';

const LENGTH_MAX = 100;
const ENTRIES_MAX = 20;
const DEPTH_MAX = 3;

/**
 * Writes a value of a parsed body as JSON, for a `detail`: one line, no control characters, and `shortened`.
 * Writes three levels, because a body may nest deeper than JSON.stringify can follow.
 */
export function quoted(value: unknown): string {
  return shortened(rendered(value, DEPTH_MAX));
}

/** Cuts a text after 100 characters. Then escapes invisible characters as JSON does, so it may get longer. */
export function shortened(text: string): string {
  // A character has at most two code units.
  const characters = Array.from(text.slice(0, 2 * LENGTH_MAX)).slice(0, LENGTH_MAX);
  const head = characters.join('');
  return escapeTerminalControls(head.length < text.length ? `${head}…` : text);
}

function rendered(value: unknown, depth: number): string {
  if (typeof value === 'number') return String(value); // JSON has no infinity, but 1e999 reads as one
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (depth === 0) return '…';
  if (Array.isArray(value)) {
    const entries = value.slice(0, ENTRIES_MAX).map((entry) => rendered(entry, depth - 1));
    if (value.length > ENTRIES_MAX) entries.push('…');
    return `[${entries.join()}]`;
  }
  // Twenty members are longer than LENGTH_MAX, so the cut shows that some are missing.
  const entries = Object.entries(value).slice(0, ENTRIES_MAX);
  return `{${entries.map(([name, entry]) => `${JSON.stringify(name)}:${rendered(entry, depth - 1)}`).join()}}`;
}
