import type { Writable } from 'node:stream';
import { terminalJson } from '@postrider/domain';
import type { Io } from './io.ts';

/** The most entries that a command lists. */
export const LISTED_MAX = 100;

/** Prints the answer of a command: lines for a person, or with `--json` one document. */
export function printAnswer(
  io: Io,
  json: boolean | undefined,
  document: object,
  lines: readonly string[],
): void {
  const text = json === true ? [terminalJson(document)] : lines.map(escapeInvisible);
  for (const line of text) io.stdout.write(`${line}\n`);
}

/**
 * Prints a list.
 *
 * @param rows the cells of each entry, for a person. `none` is the line of an empty list.
 */
export function printList(
  io: Io,
  json: boolean | undefined,
  data: readonly object[],
  { head, rows, none }: { head: readonly string[]; rows: readonly (readonly string[])[]; none: string },
): void {
  printAnswer(io, json, { object: 'list', data }, rows.length === 0 ? [none] : table(head, rows));
}

/** Tells how to read on when the list continues. @param last the last entry of the page */
export function noteMore(io: Io, hasMore: boolean, last: { readonly id: string | number } | undefined): void {
  if (hasMore && last !== undefined) note(io, `postrider: there are more: --after ${last.id}`);
}

/** Writes a note that is not part of the answer. */
export function note(io: Io, line: string): void {
  io.stderr.write(`${line}\n`);
}

export function isTerminal(stream: Writable): boolean {
  return 'isTTY' in stream && stream.isTTY === true;
}

/** A table. Each column is as wide as its widest cell, with its escapes; two spaces separate the columns. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [head, ...rows].map((row) => row.map(escapeInvisible));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** A text on one line. Characters that control a terminal or hide text become escapes. */
function escapeInvisible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return character === '\n' ? '\\n' : `\\u{${code.toString(16)}}`;
  });
}
