/** Bytes of a Message-ID: one line of RFC 5322 2.1.1. An index of Postgres takes values up to 2,704 bytes. */
const ID_BYTES_MAX = 998;

/** Ids kept from References: the first, and the newest. Each costs a lookup in Postgres. */
export const REFERENCES_MAX = 200;

/** The Message-IDs that a message answers, without brackets. `references` keeps the order of the header. */
export interface AnsweredIds {
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
}

/**
 * Reads the ids that a received or a sent message answers. Without ids in References, several ids in
 * In-Reply-To count as the references (RFC 5322 3.6.4).
 */
export function answeredIds(inReplyTo: readonly string[], references: readonly string[]): AnsweredIds {
  const answered = inReplyTo.flatMap(messageIdsIn);
  const chain = references.flatMap(messageIdsIn);
  const several = answered.length > 1 ? answered : [];
  // The old form `Bob <bob@x> message <id@x>` has the id at its end.
  return {
    inReplyTo: answered.at(-1) ?? null,
    references: newestIds(chain.length > 0 ? chain : several, REFERENCES_MAX),
  };
}

/**
 * Reads the ids in angle brackets. Folding may put spaces into an id, so spaces are removed. Some programs
 * omit the brackets. Then the ids are the words that look like addresses (RFC 5322 3.6.4).
 */
export function messageIdsIn(field: string): string[] {
  const bracketed = [...field.matchAll(/<([^<>]+)>/g)].map(([, id = '']) => id.replaceAll(/\s/g, ''));
  const ids = bracketed.length > 0 ? bracketed : field.split(/[\s<>(),;"]+/).filter(isLikeAddress);
  return ids.filter(isMessageId);
}

/** A long list keeps its first id, which names the conversation, and its last ids. */
export function newestIds(ids: readonly string[], idsMax: number): string[] {
  return ids.length <= idsMax ? [...ids] : [...ids.slice(0, 1), ...ids.slice(1 - idsMax)];
}

/** True for a text that is short enough to be stored as an id. */
export function isMessageId(id: string): boolean {
  return id !== '' && Buffer.byteLength(id) <= ID_BYTES_MAX;
}

function isLikeAddress(word: string): boolean {
  return /^[^@]+@[^@]+$/.test(word);
}
