import { z } from 'zod';
import type { Clock } from './clock.ts';
import { LIMITS } from './limits.ts';
import type { AttachmentId, MessageId } from './received-message.ts';
import { createSealedTokens } from './sealed-token.ts';

/** What a link gives to whoever has it. */
export interface LinkTarget {
  readonly messageId: MessageId;
  /** Null: the raw message. */
  readonly attachmentId: AttachmentId | null;
}

/**
 * Tokens that stand in links to the bytes of received mail. A token needs no row anywhere, and ends by
 * itself.
 */
export interface LinkTokens {
  /** @returns `token`: letters, digits, `-` and `_`; about 150 of them. */
  seal(target: LinkTarget): { readonly token: string; readonly expiresAt: Date };
  /**
   * @returns null once it has ended, and for whatever `seal` has not made: the reasons are not told apart.
   */
  open(token: string): LinkTarget | null;
}

/** The last is the end, in milliseconds since 1970. */
const contents = z.tuple([z.string(), z.string().nullable(), z.int()]);

/**
 * @param keys the service's secret keys: the first seals, each opens. Tokens are under keys derived from
 *   them.
 */
export function createLinkTokens(keys: readonly Buffer[], clock: Clock): LinkTokens {
  const tokens = createSealedTokens(keys, 'link');
  return {
    seal({ messageId, attachmentId }) {
      const endsAt = clock.now().getTime() + LIMITS.linkMs;
      const token = tokens.seal(JSON.stringify([messageId, attachmentId, endsAt]));
      return { token, expiresAt: new Date(endsAt) };
    },
    open(token) {
      const text = tokens.open(token);
      if (text === null) return null;
      const [messageId, attachmentId, endsAt] = contents.parse(JSON.parse(text));
      if (clock.now().getTime() >= endsAt) return null;
      return { messageId: messageId as MessageId, attachmentId: attachmentId as AttachmentId | null };
    },
  };
}
