/**
 * Parses a URL without `URL.canParse`. After about 4,500 calls, Node 22.19 replaces `canParse` by a compiled
 * version, which rejects Latin-1 text such as `https://bücher.example`.
 *
 * @returns null when the text is not an absolute URL
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
