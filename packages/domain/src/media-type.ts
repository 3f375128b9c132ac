/** Type and subtype on one line, with or without parameters (RFC 2045 section 5.1, RFC 6838 section 4.2). */
const MEDIA_TYPE = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}(?: *;[\u0020-\u007e]*)?$/i;
const LENGTH_MAX = 255;

/** True when `text` is a valid value of `Content-Type`. */
export function isMediaType(text: string): boolean {
  return text.length <= LENGTH_MAX && MEDIA_TYPE.test(text);
}
