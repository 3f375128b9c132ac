import type { AuthResult } from '@postrider/domain';

export type DmarcPolicy = 'none' | 'quarantine' | 'reject';

/** What is known of who sent a message. */
export interface SenderVerdict {
  readonly auth: { readonly spf: AuthResult; readonly dkim: AuthResult; readonly dmarc: AuthResult };
  /** What the domain in From asks for when DMARC fails. `none` without a record. */
  readonly dmarcPolicy: DmarcPolicy;
}

export interface Verdicts extends SenderVerdict {
  /** False also when no scanner judged it. */
  readonly virus: boolean;
  /** Null: not judged. */
  readonly spam: boolean | null;
}

/** What the SMTP session said. */
export interface Envelope {
  /** IPv4 or IPv6, as a socket writes it. */
  readonly remoteAddress: string;
  readonly helo: string;
  /** '' for the null sender. */
  readonly mailFrom: string;
  readonly rcptTo: readonly string[];
}
