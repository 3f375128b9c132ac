/** Names that only mean something inside somebody's network, and every name below them (RFC 6761, 6762, 7686, 8375, ICANN `.internal`). */
const privateSuffixes = ['localhost', 'local', 'internal', 'home.arpa', 'arpa', 'onion', 'metadata.goog'];

/** RFC 1035 2.3.4, without the trailing dot. */
const nameCharactersMax = 253;

/** A last label that a resolver or a URL parser may read as a number, hence the whole name as an IPv4 address (WHATWG URL 3.5). */
const numericLabel = /^(\d+|0x[0-9a-f]*)$/i;

/** The name without the one trailing dot that marks it as fully qualified: `localhost.` is `localhost`. */
export function withoutTrailingDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

/** The host of a URL as sockets take it: without the brackets around an IPv6 address. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

/** Why a name is refused before it is looked up, or null. Judges the parsed host of a URL, not what a customer typed. */
export function judgeName(hostname: string): string | null {
  const name = withoutTrailingDot(hostname.toLowerCase());
  const labels = name.split('.');
  if (name.length > nameCharactersMax || labels.includes('')) return 'not a host name';
  if (privateSuffixes.some((suffix) => name === suffix || name.endsWith(`.${suffix}`)))
    return 'not a public name';
  if (labels.length === 1) return 'single label';
  if (numericLabel.test(labels.at(-1) ?? '')) return 'not a host name';
  return null;
}
