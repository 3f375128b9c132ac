const SANDBOX_INBOUND_DOMAINS = ['inbound.postrider.example'];

/**
 * Every account may have inboxes and routing rules on these domains.
 *
 * @param configured undefined: not set.
 */
export function sharedInboundDomains(
  configured: readonly string[] | undefined,
  mailProvider: string,
): readonly string[] {
  return configured ?? (mailProvider === 'sandbox' ? SANDBOX_INBOUND_DOMAINS : []);
}
