import type { AccountId } from '@postrider/domain';

export type SendingDomainStatus = 'pending' | 'verified' | 'failed' | 'temporary_failure';

/** A DNS record that the domain's owner must publish, in the shape of Resend's API. */
export interface DomainRecord {
  readonly record: 'DKIM' | 'SPF';
  /** Fully qualified, without the final dot. */
  readonly name: string;
  readonly type: 'CNAME' | 'MX' | 'TXT';
  readonly ttl: 'Auto';
  readonly status: SendingDomainStatus | 'not_started';
  readonly value: string;
  /** Only an MX record has one. */
  readonly priority?: number;
}

/** The provider's current view of a domain. */
export interface SendingDomain {
  readonly status: SendingDomainStatus;
  readonly records: readonly DomainRecord[];
}

export type DomainAnswer<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  /** The provider rejects the operation. The same request would get the same answer. */
  | ({ readonly kind: 'refused' } & DomainFault)
  /** The provider is away, busy, silent or failing. A later request may succeed. */
  | ({ readonly kind: 'unavailable' } & DomainFault);

export interface DomainFault {
  /** The sentence that the customer reads, without our inner error codes. */
  readonly detail: string;
  /** The error code behind the sentence, if there is one. Only operators see it. */
  readonly code?: string | undefined;
}

/**
 * Domains at the mail provider. Each operation ends within its time limit and returns failures as values.
 * `domain` is in lower case; an internationalised name is in its ASCII form.
 */
export interface DomainProvider {
  /** The provider's region, as the API shows it. */
  readonly region: string;
  /**
   * Registers a domain and its return path `send.<domain>`. With a configuration set, the provider no longer
   * mails bounces and complaints to the sender. A repeated call for the same account continues an unfinished
   * registration. A domain that the provider holds for another owner is refused.
   */
  create(request: { domain: string; accountId: AccountId }): Promise<DomainAnswer<SendingDomain>>;
  /** The value is null when the provider does not have the domain. */
  get(domain: string): Promise<DomainAnswer<SendingDomain | null>>;
  /** Succeeds also when the provider does not have the domain. */
  delete(domain: string): Promise<DomainAnswer<null>>;
  /** Closes idle connections and aborts running operations. These end as `unavailable`. */
  close(): void;
}
