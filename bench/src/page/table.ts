/** A Markdown table with padded columns, so that it is readable as text, too. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map(escapeCell));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => width(row[column] ?? ''))));
  const line = (row: readonly string[]): string =>
    `| ${widths.map((columns, column) => pad(row[column] ?? '', columns)).join(' | ')} |`;
  const [first = [], ...others] = cells;
  return [line(first), line(widths.map((columns) => '-'.repeat(columns))), ...others.map(line)].join('\n');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function pad(text: string, columns: number): string {
  return text + ' '.repeat(columns - width(text));
}

/** The number of visible characters: × and µ count as one. */
function width(text: string): number {
  return Array.from(text).length;
}
