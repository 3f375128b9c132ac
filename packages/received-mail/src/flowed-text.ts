/** Number of lines joined at a time. An array of all lines of 10 MiB would be one allocation of 80 MB. */
const LINES_AT_ONCE = 10_000;

/**
 * Joins the lines of `format=flowed` to paragraphs (RFC 3676 4). A change of the quote depth ends a
 * paragraph.
 *
 * @param text with LF
 * @param deleteSpace `DelSp=yes`: the space at the end of a line is not part of the text
 */
export function joinFlowedLines(text: string, deleteSpace: boolean): string {
  const done: string[] = [];
  let pieces: string[] = [];
  let openDepth = -1; // quote depth of the open paragraph; -1: no paragraph is open
  for (let start = 0; start <= text.length;) {
    const lineEnd = text.indexOf('\n', start);
    const end = lineEnd === -1 ? text.length : lineEnd;
    const line = flowedLine(text.slice(start, end));
    if (openDepth === line.depth && !line.isSignatureMark) pieces.push(line.contentWithout(deleteSpace));
    else pieces.push(start === 0 ? '' : '\n', line.quotes, line.contentWithout(deleteSpace));
    openDepth = line.isFlowed ? line.depth : -1;
    start = end + 1;
    if (pieces.length > LINES_AT_ONCE) {
      done.push(pieces.join(''));
      pieces = [];
    }
  }
  return [...done, ...pieces].join('');
}

function flowedLine(line: string) {
  const depth = /^>*/.exec(line)?.[0].length ?? 0;
  const content = line.slice(depth).replace(/^ /, '');
  const isSignatureMark = content === '-- ';
  const isFlowed = content.endsWith(' ') && !isSignatureMark;
  return {
    depth,
    isSignatureMark,
    isFlowed,
    quotes: depth === 0 ? '' : `${line.slice(0, depth)} `,
    contentWithout: (space: boolean): string => (isFlowed && space ? content.slice(0, -1) : content),
  };
}
