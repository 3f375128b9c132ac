import { PATTERNS } from '@postrider/domain';
import fc from 'fast-check';

interface TextSchema {
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** fast-check draws from no pattern with such a group. The drawn text is compared with the whole pattern. */
const LOOKAHEAD = /\(\?[=!]/;

function withoutLookaheads(pattern: string): string {
  const start = pattern.search(LOOKAHEAD);
  if (start === -1) return pattern;
  let depth = 0;
  let inClass = false;
  for (let at = start; at < pattern.length; at += 1) {
    const character = pattern[at];
    if (character === '\\') at += 1;
    else if (character === '[') inClass = true;
    else if (character === ']') inClass = false;
    else if (!inClass && character === '(') depth += 1;
    else if (!inClass && character === ')') depth -= 1;
    if (depth === 0) return withoutLookaheads(pattern.slice(0, start) + pattern.slice(at + 1));
  }
  throw new Error(`a group of ${pattern} does not end`);
}

/** Texts of all code points but halves of surrogate pairs, which no Unicode text has (RFC 8259 8.2). */
export function drawnText({
  format,
  pattern = format === 'date-time' ? PATTERNS.isoTime : undefined,
  minLength = 0,
  maxLength = Infinity,
}: TextSchema): fc.Arbitrary<string> {
  const fits = new RegExp(pattern ?? '', 'u');
  const drawn =
    pattern === undefined
      ? fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 20) })
      : fc.stringMatching(new RegExp(withoutLookaheads(pattern), 'u'));
  const allowed = (text: string): boolean => {
    const length = Array.from(text).length;
    return text.isWellFormed() && fits.test(text) && length >= minLength && length <= maxLength;
  };
  const few = drawn.filter(allowed);
  if (maxLength === Infinity) return few;
  // As long as it may be, where its characters may be repeated.
  const long = few.map((text) => {
    const whole = Array.from(text.repeat(text === '' ? 0 : maxLength))
      .slice(0, maxLength)
      .join('');
    return allowed(whole) ? whole : text;
  });
  return fc.oneof({ weight: 4, arbitrary: few }, { weight: 1, arbitrary: long });
}
