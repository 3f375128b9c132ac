const SANDBOX_INBOUND_DOMAINS = ['inbound.postrider.example'];

/**
 * The domains on which every account may have inboxes and routing rules.
 *
 * @param configured `INBOUND_DOMAINS`, or undefined when it is not set.
 */
export function sharedInboundDomains(
  configured: readonly string[] | undefined,
  mailProvider: string,
): readonly string[] {
  return configured ?? (mailProvider === 'sandbox' ? SANDBOX_INBOUND_DOMAINS : []);
}
