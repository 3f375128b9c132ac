/** One signed event on its way to an endpoint. */
export interface EndpointRequest {
  /** The endpoint as stored: the normalised href of an `https:` URL. */
  endpoint: string;
  /** The bytes that were signed. */
  body: Buffer;
  /** Headers beside Content-Type and User-Agent, such as those of contract section 6.2. */
  headers: Record<string, string>;
}

/** What became of one attempt. Every fault of the endpoint, its name or its network is a value. */
export type EndpointAnswer = Answered | Failure | Refused;

/** A complete final head arrived: its status decides, whatever the body did. Any three digits count, also 000, 101 and 999. */
export interface Answered {
  kind: 'answered';
  statusCode: number;
  /** The first bytes of the body, at most 1 KiB, as they came. */
  excerpt: Buffer;
}

/** Where an attempt failed: before, in or after the connection was made. */
export type FailureCause = 'timeout' | 'dns' | 'connect' | 'tls' | 'protocol';

/** A failed attempt: one line for the owner of the endpoint, without control characters or text the endpoint chose. */
export interface Failure {
  kind: 'failed';
  error: string;
  cause: FailureCause;
}

/** The endpoint lies where no delivery goes; nothing was sent. The error names the address or name. */
export interface Refused {
  kind: 'refused';
  error: string;
}
