import type { AuthResults } from '@postrider/domain';

export type DmarcPolicy = 'none' | 'quarantine' | 'reject';

/** The result of authenticating the sender. */
export interface SenderVerdict {
  readonly auth: AuthResults;
  /** The policy that the domain in From publishes for failed DMARC; `none` without a record. */
  readonly dmarcPolicy: DmarcPolicy;
  /**
   * True when DMARC did not pass, and no name server answered for the policy of the author's domain, or of a
   * related domain that SPF or DKIM authenticated. A later try may get an answer.
   */
  readonly isAuthorUnavailable: boolean;
}

export interface Verdicts extends Omit<SenderVerdict, 'isAuthorUnavailable'> {
  /** Also false when no scanner judged the message. */
  readonly virus: boolean;
  /** Null when no scanner judged the message. */
  readonly spam: boolean | null;
}

/** The envelope that the SMTP session gave. */
export interface Envelope {
  /** A key for the sending client. Clients take turns at the worker threads. */
  readonly client: string;
  /** IPv4 or IPv6, in the form that a socket reports. */
  readonly remoteAddress: string;
  readonly helo: string;
  /** Empty for the null sender. */
  readonly mailFrom: string;
  readonly rcptTo: readonly string[];
}
