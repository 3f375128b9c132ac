import { isMessageId, messageIdsIn } from '@postrider/domain/message-ids';
import { oneLine } from './clean-text.ts';

/** Reads a Message-ID. A lone word is an id, too: some programs write neither brackets nor `@`. */
export function ownId(field: string): string | null {
  const word = oneLine(field);
  return messageIdsIn(word)[0] ?? (/^[^\s<>]+$/.test(word) && isMessageId(word) ? word : null);
}
