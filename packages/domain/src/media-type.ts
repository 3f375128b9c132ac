/** Type and subtype on one line, with or without parameters (RFC 2045 section 5.1, RFC 6838 section 4.2). */
const MEDIA_TYPE = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}(?: *;[\u0020-\u007e]*)?$/i;
export const MEDIA_TYPE_LENGTH = 255;

/** True when `text` is a valid value of `Content-Type`. */
export function isMediaType(text: string): boolean {
  return text.length <= MEDIA_TYPE_LENGTH && MEDIA_TYPE.test(text);
}
