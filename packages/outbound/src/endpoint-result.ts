/** One signed event on its way to an endpoint. */
export interface EndpointRequest {
  /** The stored endpoint: the normalised href of an `https:` URL. */
  endpoint: string;
  /** The bytes that were signed. */
  body: Buffer;
  /** Headers in addition to Content-Type and User-Agent, such as those of contract section 6.2. */
  headers: Record<string, string>;
}

/** The result of an attempt. Every fault of the endpoint, its name or its network is a value. */
export type EndpointResult = Answered | Failure | Refused;

/**
 * A complete final head arrived. Its status counts, and faults in the body do not. It may be any three
 * digits, also 000, 101 and 999.
 */
export interface Answered {
  kind: 'answered';
  statusCode: number;
  /** The first bytes of the body as received, at most 1 KiB. */
  excerpt: Buffer;
}

/** The stage in which an attempt failed. */
export type FailureCause = 'timeout' | 'dns' | 'connect' | 'tls' | 'protocol';

/**
 * A failed attempt. `error` is one line for the endpoint's owner, without control characters or the
 * endpoint's own text.
 */
export interface Failure {
  kind: 'failed';
  error: string;
  cause: FailureCause;
}

/** The address guard refused the endpoint and nothing was sent. The error names the address or the name. */
export interface Refused {
  kind: 'refused';
  error: string;
}
