import { isAscii } from './domain-name.ts';
import { parseUrl } from './parse-url.ts';

/**
 * No mail reader shows them, and IDNA drops them. White space is kept: some readers end a domain there. The
 * joiners are kept, too: Persian names are written with them (RFC 5892 A.1).
 */
const INVISIBLE = /(?![\s\u200c\u200d])[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
/** A quoted pair is no parenthesis (RFC 5322 3.2.1). */
const COMMENT_TOKENS = /\\.|[()]|\\|[^()\\]+/gsu;
const WORD = /[^\s<>()[\],;:"\\/?#]+/u;
/** RFC 3490 3.1 names the dots of IDNA. */
const DOTS = /[.\u3002\uff0e\uff61]/u;
/** No name of the DNS has more (RFC 1035 2.3.4). Each costs 2 µs, and a message may name thousands of authors. */
const IDNA_LABELS_MAX = 127;

/**
 * The domains that mail readers find in an address as received: one, or more where it is malformed. Some join
 * `shop .example`, others read `shop`. Some take an `@` in a comment for the last one.
 *
 * @returns lower case and ASCII, without empty labels. A label that IDNA denies stays as written, so that the
 * domains above it count
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

/** Comments may be nested (RFC 5322 3.2.2). A parenthesis without its other half stays. */
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
  const nearest = labels.splice(-IDNA_LABELS_MAX);
  return [...labels, ...nearest.map((label) => (isAscii(label) ? label : asciiLabel(label)))]
    .join('.') // `…` is three dots by then
    .toLowerCase()
    .split('.')
    .filter((label) => label !== '')
    .join('.');
}

/** Behind it stands a label of letters: a number alone would be an IPv4 address. */
function asciiLabel(label: string): string {
  const host = parseUrl(`http://${encodeURIComponent(label)}.x`)?.hostname;
  return host === undefined ? label : host.slice(0, -'.x'.length);
}
