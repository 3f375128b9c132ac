/**
 * Parses an absolute URL; null for any other text. Not `URL.canParse`: once V8 has compiled it, after some 4,500 calls,
 * Node 22.19 denies texts with characters of Latin-1 such as `https://bücher.example`.
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
