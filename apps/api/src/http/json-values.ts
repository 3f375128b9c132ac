import { LIMITS } from '@postrider/domain';

/** Values in a body. A full batch with only known fields has a quarter of this. */
export const JSON_VALUES_MAX = 250_000;
/** Numbers in the arrays of a body: the bytes that a message may have in base64. They parse in 0.3 s. */
export const JSON_NUMBERS_MAX = (LIMITS.messageBytes / 4) * 3;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const OPENING_BRACE = 0x7b;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;

export interface JsonCounts {
  /** An upper bound of the values, without `numbers`. */
  readonly values: number;
  /** Numbers in arrays. Each byte of an attachment may be one. They take little memory. */
  readonly numbers: number;
}

/**
 * Counts the values in a JSON text, without parsing it: every value except the first follows a comma or an
 * opening bracket. The parsed form of `[[],[],…]` takes fourteen times the memory of its text. The result has
 * no meaning when the text is not JSON.
 */
export function countJsonValues(text: Uint8Array): JsonCounts {
  let values = 1;
  let numbers = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) quoted = !quoted;
    else if (quoted) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === OPENING_BRACE) values += 1;
    else if (byte === COMMA || byte === OPENING_BRACKET) {
      // A digit behind a comma begins an entry of an array. A member of an object would begin with a quote.
      while ((text[at + 1] ?? ZERO) <= SPACE) at += 1;
      const next = text[at + 1] ?? 0;
      if (next >= ZERO && next <= NINE) numbers += 1;
      else values += 1;
    }
  }
  return { values, numbers };
}
