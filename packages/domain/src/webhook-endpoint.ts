import { LIMITS } from './limits.ts';
import { parseUrl } from './parse-url.ts';
import { DOMAIN_LENGTH } from './text-patterns.ts';

/** `endpoint` is the normalised form that is stored and returned. `fault` says what the text is or has. */
export type EndpointParse =
  | { readonly ok: true; readonly endpoint: string }
  | { readonly ok: false; readonly fault: string };

const LABEL_LENGTH = 63;

/**
 * Applies the rules for an endpoint at registration. They allow a host name that leads to a private address.
 * The address guard refuses that address at delivery, when it is known (contract 3).
 */
export function parseEndpoint(text: string): EndpointParse {
  if (text.length > LIMITS.endpointLength) return fault(`is longer than ${LIMITS.endpointLength} characters`);
  const url = parseUrl(text);
  if (url === null) return fault('is not an absolute URL');
  if (!/^https:\/\//i.test(text)) return fault('is not an https:// URL');
  url.hash = ''; // HTTP requests do not carry it
  if (url.username !== '' || url.password !== '') return fault('carries a user name or password');
  if (url.port === '0') return fault('has port 0');
  const hostName = url.hostname.replace(/\.$/, '');
  const labels = hostName.split('.');
  if (labels.some((label) => label === '')) return fault('has an empty label in its host name');
  if (hostName.length > DOMAIN_LENGTH || labels.some((label) => label.length > LABEL_LENGTH)) {
    return fault('has a host name that is too long for DNS');
  }
  if (url.href.length > LIMITS.endpointLength) {
    return fault(`is longer than ${LIMITS.endpointLength} characters in its normalised form`);
  }
  return { ok: true, endpoint: url.href };
}

/** The host of a stored endpoint, and a port other than 443. No path: it may hold a customer's token. */
export function hostOf(endpoint: string): string {
  return new URL(endpoint).host;
}

function fault(text: string): EndpointParse {
  return { ok: false, fault: text };
}
