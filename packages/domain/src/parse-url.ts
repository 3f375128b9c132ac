/**
 * We do not use `URL.canParse`: in Node 22.19, V8 compiles it after about 4,500 calls. It then rejects texts
 * with Latin-1 characters, such as `https://bücher.example`.
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
