import { STRUCTURED_FIELD_CHARACTERS_MAX } from './limits.ts';

/** A field such as `Content-Type: text/plain; charset=utf-8`. */
export interface StructuredField {
  /** In lower case. */
  readonly value: string;
  /**
   * By name in lower case, quotes taken off; of a name that stands there twice, the first. RFC 2231 is not
   * decoded.
   */
  readonly parameters: ReadonlyMap<string, string>;
}

/** A text in quotes, a comment, a semicolon, anything else. A bracket that nothing closes is no comment. */
const TOKENS = /"(?:[^"\\]|\\[^])*"?|\([^()]*\)|;|[^";(]+|\(/g;
const PARAMETER = /^\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\[^])*)"?|([^"]*))/;

/** Reads what RFC 2045 5.1 allows, and most of what is sent in its stead. */
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
