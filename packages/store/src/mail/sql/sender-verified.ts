/**
 * A condition on a message `e`: its account has verified the domain in From, by that exact name. False for a message
 * whose domain is null. Not `exists`, which a plan for several messages answers by reading all domains.
 */
export const SENDER_VERIFIED = `((
  select true from domains d
  where d.name = e.from_domain and d.account_id = e.account_id and d.status = 'verified') is not null)`;
