import { parseEmailAddress } from '@postrider/domain';
import type { AddressedMessage, MailTransport, MailProvider, OutgoingMessage } from './mail-provider.ts';

/**
 * Takes the suppressed recipients out of the message before the transport sees it: they are in neither its envelope
 * nor its headers. A message that is left with nobody is refused and never handed over.
 */
export function withoutSuppressed(transport: MailTransport): MailProvider {
  return {
    name: transport.name,
    async send(message) {
      const addressed = withoutRecipients(message);
      if (addressed === null) return { kind: 'refused', error: 'every recipient is suppressed' };
      return transport.send(addressed);
    },
    close: () => transport.close(),
  };
}

function withoutRecipients({ suppressed, ...message }: OutgoingMessage): AddressedMessage | null {
  const out = new Set(suppressed.map((address) => address.toLowerCase()));
  const reachable = (text: string): boolean => {
    const address = parseEmailAddress(text)?.address;
    return address === undefined || !out.has(address.toLowerCase());
  };
  const to = message.to.filter(reachable);
  const cc = message.cc.filter(reachable);
  const bcc = message.bcc.filter(reachable);
  return to.length + cc.length + bcc.length === 0 ? null : { ...message, to, cc, bcc };
}
