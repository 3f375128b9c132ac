import { Parser } from 'htmlparser2';
import { HTML_STEPS_MAX } from './limits.ts';

/** html-to-text handles the text in these elements once more: it adds a prefix or makes capitals. */
const REPEATING = new Set(['blockquote', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ol', 'ul']);
/** htmlparser2's time grows with the square of the open elements. mailparser converts 1,000 levels. */
const OPEN_MAX = 2_000;
const CHUNK_CHARACTERS = 4_096;

/**
 * Counts what html-to-text does for this HTML: each character once, and once more for each quote, list, link
 * or heading around it. Without a limit, html-to-text makes 13 million characters from 25 KiB of HTML.
 *
 * html-to-text uses the same parser, htmlparser2. So a sender cannot hide a level from this count.
 * @returns Infinity when more than `OPEN_MAX` elements are open
 */
export function conversionSteps(html: string): number {
  let steps = 0;
  /** The characters before this index are in `steps` already. */
  let countedTo = 0;
  /** The number of times that html-to-text handles the current text. */
  let levels = 1;
  let openElements = 0;
  let tag = '';
  /** One entry for each open `a`. True: it has an `href`, so html-to-text handles its text once more. */
  const links: boolean[] = [];
  /** Counts the text up to this tag. @param change 1 for a start tag, -1 for an end tag */
  const countUpTo = (name: string, change: 1 | -1): void => {
    steps += levels * (parser.startIndex - countedTo);
    countedTo = parser.startIndex;
    openElements += change;
    if (REPEATING.has(name)) levels += change;
  };
  const parser = new Parser({
    onopentagname(name) {
      countUpTo(name, 1);
      tag = name;
      if (name === 'a') links.push(false);
    },
    onattribute(name, value) {
      if (tag !== 'a' || name !== 'href' || value === '' || links.at(-1) === true) return;
      links[links.length - 1] = true;
      levels += 1;
    },
    onclosetag(name) {
      countUpTo(name, -1);
      if (name === 'a' && links.pop() === true) levels -= 1;
    },
  });
  for (let at = 0; at < html.length && steps <= HTML_STEPS_MAX; at += CHUNK_CHARACTERS) {
    parser.write(html.slice(at, at + CHUNK_CHARACTERS));
    if (openElements > OPEN_MAX) return Infinity;
  }
  return steps + levels * (html.length - countedTo);
}
