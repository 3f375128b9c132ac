import { z } from 'zod';
import type { Clock } from './clock.ts';
import { LIMITS } from './limits.ts';
import type { AttachmentId, MessageId } from './received-message.ts';
import { createSealedTokens } from './sealed-token.ts';

/** The bytes that a link's holder may read. */
export interface LinkTarget {
  readonly messageId: MessageId;
  /** Null: the raw message. */
  readonly attachmentId: AttachmentId | null;
}

export type LinkTokens = ReturnType<typeof createLinkTokens>;

/** The last entry is the end of validity, in milliseconds since 1970. */
const contents = z.tuple([z.string(), z.string().nullable(), z.int()]);

/**
 * Tokens for links to the bytes of received mail. A token needs no row in the database and expires by itself.
 *
 * @param keys the service's secret keys. The first encrypts, each decrypts. Tokens use keys derived from
 *   them.
 */
export function createLinkTokens(keys: readonly Buffer[], clock: Clock) {
  const tokens = createSealedTokens(keys, 'link');
  return {
    /** @returns a token with about 150 letters, digits, `-` and `_`. */
    seal({ messageId, attachmentId }: LinkTarget): { readonly token: string; readonly expiresAt: Date } {
      const endsAt = clock.now().getTime() + LIMITS.linkMs;
      const token = tokens.seal(JSON.stringify([messageId, attachmentId, endsAt]));
      return { token, expiresAt: new Date(endsAt) };
    },
    /** @returns null for an expired token, and for every token that `seal` did not create. */
    open(token: string): LinkTarget | null {
      const text = tokens.open(token);
      if (text === null) return null;
      const [messageId, attachmentId, endsAt] = contents.parse(JSON.parse(text));
      if (clock.now().getTime() >= endsAt) return null;
      return { messageId: messageId as MessageId, attachmentId: attachmentId as AttachmentId | null };
    },
  };
}
