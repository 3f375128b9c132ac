/**
 * Not `URL.canParse`: once V8 has compiled it, after some 4,500 calls, Node 20.20 denies texts with characters of Latin-1
 * such as `https://bücher.example`.
 *
 * @returns null for what is no absolute URL
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
