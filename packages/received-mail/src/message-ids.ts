import { isMessageId, messageIdsIn } from '@postrider/domain/message-ids';

/**
 * Reads a Message-ID. A lone word is an id, too: some programs write neither brackets nor `@`.
 *
 * @param field the decoded value of the field
 */
export function ownId(field: string): string | null {
  const [id] = messageIdsIn(field);
  if (id !== undefined) return id;
  const isLoneWord = /^[^\s<>]+$/.test(field);
  return isLoneWord && isMessageId(field) ? field : null;
}
