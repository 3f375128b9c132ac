/** Values in one body. A full batch with only known fields has a quarter of this. */
export const JSON_VALUES_MAX = 250_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const OPENING_BRACE = 0x7b;

/**
 * Counts an upper bound of the values in a JSON text, without parsing it: every value except the first
 * follows a comma or an opening bracket. The parsed form of `[[],[],…]` takes fourteen times the memory of
 * its text. The result has no meaning when the text is not JSON.
 */
export function countJsonValues(text: Uint8Array): number {
  let values = 1;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) quoted = !quoted;
    else if (quoted) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA || byte === OPENING_BRACKET || byte === OPENING_BRACE) values += 1;
  }
  return values;
}
