import { isMessageId, messageIdsIn } from '@postrider/domain/message-ids';
import { oneLine } from './clean-text.ts';
import { REFERENCES_MAX } from './limits.ts';

/** Reads a Message-ID. A lone word is an id, too: some programs write neither brackets nor `@`. */
export function ownId(field: string): string | null {
  const word = oneLine(field);
  return messageIdsIn(word)[0] ?? (/^[^\s<>]+$/.test(word) && isMessageId(word) ? word : null);
}

/** A long list keeps its first id, which names the conversation, and its last ids. */
export function newestIds(ids: readonly string[]): string[] {
  if (ids.length <= REFERENCES_MAX) return [...ids];
  return [...ids.slice(0, 1), ...ids.slice(1 - REFERENCES_MAX)];
}
