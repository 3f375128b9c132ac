import { plainAddress } from '@postrider/domain';

/**
 * The form in which the senders of received mail are stored and searched: as `plainAddress` writes an
 * address, or in lower case when no mail can be sent to it.
 *
 * @param from an address, with or without a name, as in the record of a message.
 */
export function senderAddress(from: string): string {
  const address = from.slice(from.lastIndexOf('<') + 1).replace(/>$/, '');
  return plainAddress(address) ?? address.toLowerCase().normalize('NFC');
}
