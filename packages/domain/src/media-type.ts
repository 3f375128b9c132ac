/** RFC 2045 section 5.1, RFC 6838 section 4.2: a type and a subtype, with parameters or without; on one line. */
const MEDIA_TYPE = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}(?: *;[\u0020-\u007e]*)?$/i;
const LENGTH_MAX = 255;

/** Whether `text` can stand in a `Content-Type` header as it is. */
export function isMediaType(text: string): boolean {
  return text.length <= LENGTH_MAX && MEDIA_TYPE.test(text);
}
