/**
 * A Markdown table with padded columns, so that it is readable as text, too.
 *
 * @param right the columns that are aligned to the right, from 0
 */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const cells = [head, ...rows].map((row) => row.map(escapeCell));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => widthOf(row[column] ?? ''))));
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => pad(row[column] ?? '', width, right.includes(column))).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    right.includes(column) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width),
  );
  const [first = [], ...others] = cells;
  return [line(first), line(rule), ...others.map(line)].join('\n');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function pad(text: string, width: number, toTheRight: boolean): string {
  const space = ' '.repeat(width - widthOf(text));
  return toTheRight ? space + text : text + space;
}

/** The number of visible characters: × and µ count as one. */
function widthOf(text: string): number {
  return Array.from(text).length;
}
