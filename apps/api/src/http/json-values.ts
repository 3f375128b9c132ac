/** In one body: four times as many as a batch can hold in the fields that are known. */
export const JSON_VALUES_MAX = 250_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const OPENING_BRACE = 0x7b;

/**
 * How many values a JSON text holds at the most, found without parsing it (each but the first stands behind a comma or
 * an opening bracket): `[[],[],…]` takes fourteen times as much
 * memory as its text. Of what is no JSON, any number.
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
