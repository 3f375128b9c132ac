import type { AccountId } from '@postrider/domain';

export type SendingDomainStatus = 'pending' | 'verified' | 'failed' | 'temporary_failure';

/** A DNS record that the owner of a domain has to publish, in the shape of Resend's API. */
export interface DomainRecord {
  readonly record: 'DKIM' | 'SPF';
  /** Fully qualified, without the final dot. */
  readonly name: string;
  readonly type: 'CNAME' | 'MX' | 'TXT';
  readonly ttl: 'Auto';
  readonly status: SendingDomainStatus | 'not_started';
  readonly value: string;
  /** Of an MX record. */
  readonly priority?: number;
}

/** What the provider says of a domain now. */
export interface SendingDomain {
  readonly status: SendingDomainStatus;
  readonly records: readonly DomainRecord[];
}

export type DomainAnswer<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  /** The provider's no: asking again unchanged gets the same. */
  | ({ readonly kind: 'refused' } & DomainFault)
  /** Away, busy, silent, or failing: asking again may do. */
  | ({ readonly kind: 'unavailable' } & DomainFault);

export interface DomainFault {
  /** For the customer: a sentence without our inner error codes. */
  readonly detail: string;
  /** For operators only: the error code behind the sentence, where there is one. */
  readonly code?: string | undefined;
}

/**
 * Domains at the mail provider. Each operation ends within the time limit, whatever the provider does, and its
 * failures are values. `domain` is a name in lower case, IDN in its ASCII form.
 */
export interface DomainProvider {
  /** Where the provider keeps the domains, as customers are told. */
  readonly region: string;
  /**
   * Registers a domain and its return path `send.<domain>`. Asked again by the same account it goes on where it
   * stopped; a domain that the provider already has for anybody else is refused.
   */
  create(request: { domain: string; accountId: AccountId }): Promise<DomainAnswer<SendingDomain>>;
  /** @returns null as its value when the provider does not have the domain. */
  get(domain: string): Promise<DomainAnswer<SendingDomain | null>>;
  /** A domain that the provider does not have is as good as deleted. */
  delete(domain: string): Promise<DomainAnswer<null>>;
  /** Ends idle connections, and breaks off what is still running: it answers `unavailable`. */
  close(): Promise<void>;
}
