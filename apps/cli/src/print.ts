import type { Io } from './io.ts';

/** Writes `value` as the JSON document of a command. */
export function printJson(io: Io, value: unknown): void {
  io.stdout.write(`${JSON.stringify(value)}\n`);
}

export function printLines(io: Io, lines: readonly string[]): void {
  for (const line of lines) io.stdout.write(`${line}\n`);
}

/** Writes a note that is not part of the answer. */
export function note(io: Io, line: string): void {
  io.stderr.write(`${line}\n`);
}

/** A table. Each column is as wide as its widest cell; two spaces separate the columns. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
