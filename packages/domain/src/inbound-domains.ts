const SANDBOX_DOMAINS = ['inbound.postrider.example'];

/** The domains on which every account may have inboxes and rules. @param configured undefined: nobody has said. */
export function sharedInboundDomains(
  configured: readonly string[] | undefined,
  mailProvider: string,
): readonly string[] {
  return configured ?? (mailProvider === 'sandbox' ? SANDBOX_DOMAINS : []);
}
