const RESPONSE_BYTES_MAX = 1024;

/**
 * The first bytes of an endpoint's answer as text of at most 1 KiB in UTF-8. A character that is cut at the end is left out.
 * What is no UTF-8 becomes U+FFFD; that takes three bytes, so the text may need a second cut.
 */
export function responseText(bytes: Uint8Array): string {
  const text = decoded(bytes);
  const encoded = Buffer.from(text);
  return encoded.length <= RESPONSE_BYTES_MAX ? text : decoded(encoded.subarray(0, RESPONSE_BYTES_MAX));
}

/** As a stream, of which more may come: the decoder holds back an incomplete character. */
function decoded(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}
