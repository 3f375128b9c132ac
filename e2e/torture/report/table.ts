/** A Markdown table with its columns aligned, as the formatter wants it. Columns named in `right` hold numbers. */
export function tableOf(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => padded(cell, widths[column] ?? 0, right.includes(column))).join(' | ')} |`;
  const rule = `| ${widths
    .map((width, column) => (right.includes(column) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
    .join(' | ')} |`;
  const [first = [], ...others] = cells;
  return [line(first), rule, ...others.map(line)].join('\n');
}

function padded(text: string, width: number, right: boolean): string {
  return right ? text.padStart(width) : text.padEnd(width);
}
