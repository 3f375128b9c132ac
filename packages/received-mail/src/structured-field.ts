import { STRUCTURED_FIELD_CHARACTERS_MAX } from './limits.ts';

/** A field such as `Content-Type: text/plain; charset=utf-8`. */
export interface StructuredField {
  /** The value in lower case. */
  readonly value: string;
  /**
   * Parameters by name in lower case, without quotes. A repeated name keeps its first value. RFC 2231 is not
   * decoded.
   */
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * Matches a quoted text, a comment, a semicolon, or other text. A bracket without its closing bracket is no
 * comment.
 */
const TOKENS = /"(?:[^"\\]|\\[^])*"?|\([^()]*\)|;|[^";(]+|\(/g;
const PARAMETER = /^\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\[^])*)"?|([^"]*))/;

/** Reads the syntax of RFC 2045 5.1, and most of the broken forms that programs send. */
export function readStructuredField(text: string): StructuredField {
  const [value = '', ...rest] = splitAtSemicolons(text.slice(0, STRUCTURED_FIELD_CHARACTERS_MAX));
  const parameters = new Map<string, string>();
  for (const item of rest) {
    const [, name = '', inQuotes, bare = ''] = PARAMETER.exec(item) ?? [];
    const key = name.toLowerCase();
    if (key === '' || parameters.has(key)) continue;
    parameters.set(key, inQuotes?.replaceAll(/\\([^])/g, '$1') ?? bare.trim());
  }
  return { value: value.trim().toLowerCase(), parameters };
}

function splitAtSemicolons(text: string): string[] {
  const items: string[] = [];
  let item = '';
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === ';') {
      items.push(item);
      item = '';
    } else {
      item += isComment(token, item) ? ' ' : token;
    }
  }
  return [...items, item];
}

/** In `filename=Invoice(1).pdf` the bracket belongs to the value. */
function isComment(token: string, before: string): boolean {
  return token.startsWith('(') && token.endsWith(')') && (!before.includes('=') || /\s$/.test(before));
}
