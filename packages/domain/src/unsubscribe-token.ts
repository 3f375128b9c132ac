import { hkdfSync } from 'node:crypto';
import { z } from 'zod';
import type { AccountId, TopicId } from './ids.ts';
import { createSecretBox } from './secret-box.ts';

/** Whom a token lets unsubscribe, and from what. */
export interface UnsubscribeTarget {
  readonly accountId: AccountId;
  readonly topicId: TopicId;
  /** As `plainAddress` writes it. */
  readonly address: string;
}

/**
 * Tokens that stand in the links of mail. A token needs no row anywhere and never ends: mail is read years later.
 * It tells nobody whom it names, and cannot be made or altered without a key.
 */
export interface UnsubscribeTokens {
  /** @returns letters, digits, `-` and `_`; about 150 of them. */
  seal(target: UnsubscribeTarget): string;
  /** @returns null for whatever `seal` has not made with one of the keys: the reasons are not told apart. */
  open(token: string): UnsubscribeTarget | null;
}

/** Bound into the seal: what is sealed for another purpose opens no link. */
const PURPOSE = 'unsubscribe';
const KEY_BYTES = 32;
const KEY_ID_BYTES = 4;
/** Enough for the longest address; a longer text is none of ours. */
const TOKEN_LENGTH_MAX = 1024;

const contents = z.tuple([z.string(), z.string(), z.string()]);

/** @param keys the service's secret keys: the first seals, each opens. Tokens are under keys derived from them. */
export function createUnsubscribeTokens(keys: readonly Buffer[]): UnsubscribeTokens {
  const box = createSecretBox(keys.map(derivedKey));
  return {
    seal({ accountId, topicId, address }) {
      const { keyId, sealed } = box.seal(JSON.stringify([accountId, topicId, address]), PURPOSE);
      return Buffer.concat([Buffer.from(keyId, 'hex'), sealed]).toString('base64url');
    },
    open(token) {
      const bytes = Buffer.from(token.slice(0, TOKEN_LENGTH_MAX), 'base64url');
      // Decoding is lenient: of the texts that decode to the same bytes only one is the token.
      if (bytes.toString('base64url') !== token) return null;
      const text = opened(bytes);
      if (text === null) return null;
      const [accountId, topicId, address] = contents.parse(JSON.parse(text));
      return { accountId: accountId as AccountId, topicId: topicId as TopicId, address };
    },
  };

  function opened(bytes: Buffer): string | null {
    const keyId = bytes.subarray(0, KEY_ID_BYTES).toString('hex');
    try {
      return box.open({ keyId, sealed: bytes.subarray(KEY_ID_BYTES) }, PURPOSE);
    } catch {
      return null; // an unknown key, or bytes that its holder has not sealed
    }
  }
}

/** Tokens are handed to the world: what anybody learns of their key must say nothing about secrets at rest. */
function derivedKey(key: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'postrider unsubscribe token', KEY_BYTES));
}
