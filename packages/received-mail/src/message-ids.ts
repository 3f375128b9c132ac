import { isMessageId, messageIdsIn } from '@postrider/domain/message-ids';

/**
 * Reads a Message-ID. A lone word is an id, too: some programs write neither brackets nor `@`.
 *
 * @param word the decoded field
 */
export function ownId(word: string): string | null {
  return messageIdsIn(word)[0] ?? (/^[^\s<>]+$/.test(word) && isMessageId(word) ? word : null);
}
