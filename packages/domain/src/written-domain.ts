import { isAscii } from './domain-name.ts';
import { parseUrl } from './parse-url.ts';

/**
 * Mail readers do not show these characters, and IDNA drops them. White space is not included: some readers
 * end a domain there. Joiners are not included either: Persian names use them (RFC 5892 A.1).
 */
const INVISIBLE = /(?![\s\u200c\u200d])[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
/** A quoted pair does not open or close a comment (RFC 5322 3.2.1). */
const COMMENT_TOKENS = /\\.|[()]|\\|[^()\\]+/gsu;
const WORD = /[^\s<>()[\],;:"\\/?#]+/u;
/** The dots of IDNA (RFC 3490 3.1). */
const DOTS = /[.\u3002\uff0e\uff61]/u;
/**
 * A DNS name has no more labels (RFC 1035 2.3.4). To convert a label costs 2 µs, and a message may name
 * thousands of authors.
 */
const IDNA_LABELS_MAX = 127;

/**
 * The domains that mail readers may see in an address as received. A malformed address has several domains:
 * some readers join `shop .example`, others read `shop`. Some readers split at an `@` in a comment.
 *
 * @returns names in lower-case ASCII, without empty labels. A label that IDNA rejects stays as written, so
 *   that its parent domains still count.
 */
export function writtenDomains(address: string): string[] {
  const written = address.replaceAll(INVISIBLE, '');
  const words = [withoutComments(behindAt(written)), behindAt(withoutComments(written))]
    .flatMap((text) => [text.replaceAll(/\s/gu, ''), text])
    .map((text) => WORD.exec(text)?.[0] ?? '');
  const names = new Set([...new Set(words)].map(asciiLabels));
  return [...names].filter((name) => name !== '');
}

function behindAt(text: string): string {
  const at = text.lastIndexOf('@');
  return at === -1 ? '' : text.slice(at + 1);
}

/** Comments may be nested (RFC 5322 3.2.2). An unmatched parenthesis stays. */
function withoutComments(text: string): string {
  const kept: string[] = [];
  const opened: number[] = [];
  for (const [token] of text.matchAll(COMMENT_TOKENS)) {
    const start = token === ')' ? opened.pop() : undefined;
    if (token === '(') opened.push(kept.length);
    if (start === undefined) kept.push(token);
    else kept.splice(start, kept.length, ' ');
  }
  return kept.join('');
}

function asciiLabels(name: string): string {
  const labels = name.split(DOTS).filter((label) => label !== '');
  const unconverted = labels.slice(0, -IDNA_LABELS_MAX);
  const nearest = labels.slice(-IDNA_LABELS_MAX);
  return [...unconverted, ...nearest.map((label) => (isAscii(label) ? label : asciiLabel(label)))]
    .join('.') // IDNA may have turned `…` into three dots
    .toLowerCase()
    .split('.')
    .filter((label) => label !== '')
    .join('.');
}

/** Converts a label as URLs do. Appends `.x` first, because a URL reads a lone number as an IPv4 address. */
function asciiLabel(label: string): string {
  const host = parseUrl(`http://${encodeURIComponent(label)}.x`)?.hostname;
  return host === undefined ? label : host.slice(0, -'.x'.length);
}
