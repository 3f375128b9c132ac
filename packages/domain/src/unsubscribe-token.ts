import { z } from 'zod';
import type { AccountId, TopicId } from './ids.ts';
import { createSealedTokens } from './sealed-token.ts';

/** The address that a token unsubscribes, and the topic. */
export interface UnsubscribeTarget {
  readonly accountId: AccountId;
  readonly topicId: TopicId;
  /** Written by `plainAddress`. */
  readonly address: string;
}

export type UnsubscribeTokens = ReturnType<typeof createUnsubscribeTokens>;

const contents = z.tuple([z.string(), z.string(), z.string()]);

/**
 * Tokens for unsubscribe links in mail. A token needs no row in the database. It never expires, because mail
 * is read years later. Without a key, no one can read, create or change it.
 *
 * @param keys the service's secret keys. The first encrypts, each decrypts. Tokens use keys derived from
 *   them.
 */
export function createUnsubscribeTokens(keys: readonly Buffer[]) {
  const tokens = createSealedTokens(keys, 'unsubscribe');
  return {
    /** @returns about 150 letters, digits, `-` and `_`. */
    seal({ accountId, topicId, address }: UnsubscribeTarget): string {
      return tokens.seal(JSON.stringify([accountId, topicId, address]));
    },
    /** @returns null for every token that `seal` did not create with one of the keys. */
    open(token: string): UnsubscribeTarget | null {
      const text = tokens.open(token);
      if (text === null) return null;
      const [accountId, topicId, address] = contents.parse(JSON.parse(text));
      return { accountId: accountId as AccountId, topicId: topicId as TopicId, address };
    },
  };
}
