import { Parser } from 'htmlparser2';
import { HTML_STEPS_MAX } from './limits.ts';

/** html-to-text handles the text in these once more: it adds a prefix or makes capitals. */
const REPEATING = new Set(['blockquote', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ol', 'ul']);
/** The time of the parser grows with the square of the open elements. mailparser converts 1,000 levels. */
const OPEN_MAX = 2_000;
const CHUNK_CHARACTERS = 4_096;

/**
 * Counts what html-to-text does for this HTML: each character once, and once more for each quote, list, link
 * or heading around it. Without a limit, 25 KiB become 13 million characters.
 *
 * It reads the HTML with the parser of html-to-text. So nothing can hide a level.
 * @returns Infinity when more than `OPEN_MAX` elements are open
 */
export function conversionSteps(html: string): number {
  let [steps, counted, levels, open, tag] = [0, 0, 1, 0, ''];
  /** True for each open `a` that is a link, whose text html-to-text collects. Others are names of places. */
  const links: boolean[] = [];
  const count = (by: number, name: string): void => {
    steps += levels * (parser.startIndex - counted);
    counted = parser.startIndex;
    open += by;
    if (REPEATING.has(name)) levels += by;
  };
  const parser = new Parser({
    onopentagname(name) {
      count(1, name);
      tag = name;
      if (name === 'a') links.push(false);
    },
    onattribute(name, value) {
      if (tag !== 'a' || name !== 'href' || value === '' || links.at(-1) === true) return;
      links[links.length - 1] = true;
      levels += 1;
    },
    onclosetag(name) {
      count(-1, name);
      if (name === 'a' && links.pop() === true) levels -= 1;
    },
  });
  for (let at = 0; at < html.length && steps <= HTML_STEPS_MAX; at += CHUNK_CHARACTERS) {
    parser.write(html.slice(at, at + CHUNK_CHARACTERS));
    if (open > OPEN_MAX) return Infinity;
  }
  return steps + levels * (html.length - counted);
}
