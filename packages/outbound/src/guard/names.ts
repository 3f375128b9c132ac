/** Names of private networks, and every name below them (RFC 6761, 6762, 7686, 8375, ICANN `.internal`). */
const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'home.arpa', 'arpa', 'onion', 'metadata.goog'];

/** Characters without the trailing dot (RFC 1035 2.3.4). */
const NAME_CHARACTERS_MAX = 253;

/**
 * With such a last label, a resolver or URL parser may read the whole name as an IPv4 address (WHATWG URL
 * 3.5).
 */
const NUMERIC_LABEL = /^(\d+|0x[0-9a-f]*)$/i;

/** Removes the one trailing dot of a fully qualified name: `localhost.` becomes `localhost`. */
export function withoutTrailingDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

/** Removes the brackets around an IPv6 address, which sockets do not accept. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

/**
 * @returns why the name is refused without a DNS lookup, or null.
 *
 * @param hostname the host of a parsed URL.
 */
export function judgeName(hostname: string): string | null {
  const name = withoutTrailingDot(hostname.toLowerCase());
  const labels = name.split('.');
  if (name.length > NAME_CHARACTERS_MAX || labels.includes('')) return 'not a host name';
  if (PRIVATE_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`)))
    return 'not a public name';
  if (labels.length === 1) return 'single label';
  if (NUMERIC_LABEL.test(labels.at(-1) ?? '')) return 'not a host name';
  return null;
}
