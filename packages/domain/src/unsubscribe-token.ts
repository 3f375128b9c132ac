import { z } from 'zod';
import type { AccountId, TopicId } from './ids.ts';
import { createSealedTokens } from './sealed-token.ts';

/** Whom a token lets unsubscribe, and from what. */
export interface UnsubscribeTarget {
  readonly accountId: AccountId;
  readonly topicId: TopicId;
  /** As `plainAddress` writes it. */
  readonly address: string;
}

/**
 * Tokens that stand in the links of mail. A token needs no row anywhere and never ends: mail is read years
 * later. It tells nobody whom it names, and cannot be made or altered without a key.
 */
export interface UnsubscribeTokens {
  /** @returns letters, digits, `-` and `_`; about 150 of them. */
  seal(target: UnsubscribeTarget): string;
  /** @returns null for whatever `seal` has not made with one of the keys: the reasons are not told apart. */
  open(token: string): UnsubscribeTarget | null;
}

const contents = z.tuple([z.string(), z.string(), z.string()]);

/**
 * @param keys the service's secret keys: the first seals, each opens. Tokens are under keys derived from
 *   them.
 */
export function createUnsubscribeTokens(keys: readonly Buffer[]): UnsubscribeTokens {
  const tokens = createSealedTokens(keys, 'unsubscribe');
  return {
    seal: ({ accountId, topicId, address }) => tokens.seal(JSON.stringify([accountId, topicId, address])),
    open(token) {
      const text = tokens.open(token);
      if (text === null) return null;
      const [accountId, topicId, address] = contents.parse(JSON.parse(text));
      return { accountId: accountId as AccountId, topicId: topicId as TopicId, address };
    },
  };
}
