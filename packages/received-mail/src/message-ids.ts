import { isMessageId, messageIdsIn } from '@postrider/domain/message-ids';

/**
 * Reads the message's own id from its Message-ID field; null when the field holds no id. A lone word is an
 * id, too: some programs write neither brackets nor `@`.
 *
 * @param field the decoded value of the field
 */
export function ownId(field: string): string | null {
  const [id] = messageIdsIn(field);
  if (id !== undefined) return id;
  const isLoneWord = /^[^\s<>]+$/.test(field);
  return isLoneWord && isMessageId(field) ? field : null;
}
