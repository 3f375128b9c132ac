import { withoutTrailingDot } from './guard/names.ts';

/** Why an endpoint is refused whatever its address is. Registration already keeps these out; a delivery does not rely on it. */
interface RefusedEndpoint {
  refusal: string;
}

/**
 * The one place where an endpoint's text becomes a URL: what is judged is what is connected to. The trailing dot of a
 * fully qualified name goes, because it belongs neither in SNI nor in Host.
 */
export function parseEndpoint(endpoint: string): URL | RefusedEndpoint {
  let url: URL;
  try {
    url = new URL(endpoint);
  } catch {
    return { refusal: 'refused endpoint: not an absolute URL' };
  }
  if (url.protocol !== 'https:') return { refusal: 'refused endpoint: not an https URL' };
  if (url.username !== '' || url.password !== '')
    return { refusal: 'refused endpoint: it holds credentials' };
  if (url.port === '0') return { refusal: 'refused endpoint: port 0' };
  if (url.hostname.endsWith('.')) url.hostname = withoutTrailingDot(url.hostname);
  return url;
}
