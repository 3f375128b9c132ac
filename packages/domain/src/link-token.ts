import { z } from 'zod';
import type { Clock } from './clock.ts';
import { parseId } from './ids.ts';
import type { AttachmentId, EmailId, MessageId } from './ids.ts';
import { LIMITS } from './limits.ts';
import { createSealedTokens } from './sealed-token.ts';

/** The bytes that a link's holder may read. */
export type LinkTarget = ReceivedBytes | SentAttachment;

/** A received message, or an attachment. */
export interface ReceivedBytes {
  readonly messageId: MessageId;
  /** Null: the raw message. */
  readonly attachmentId: AttachmentId | null;
}

/** An attachment of a sent message. */
export interface SentAttachment {
  readonly emailId: EmailId;
  /** The index of the attachment in the message. */
  readonly position: number;
}

export type LinkTokens = ReturnType<typeof createLinkTokens>;

/**
 * The message's id; the attachment's id, position or null; and the end of validity in milliseconds since
 * 1970.
 */
const contents = z.tuple([z.string(), z.string().nullable(), z.int()]);

/**
 * Tokens for links to the bytes of mail. A token needs no row in the database and expires by itself.
 *
 * @param keys the service's secret keys. The first encrypts, each decrypts. Tokens use keys derived from
 *   them.
 */
export function createLinkTokens(keys: readonly Buffer[], clock: Clock) {
  const tokens = createSealedTokens(keys, 'link');
  return {
    /** @returns a token with about 150 letters, digits, `-` and `_`. */
    seal(target: LinkTarget): { readonly token: string; readonly expiresAt: Date } {
      const endsAt = clock.now().getTime() + LIMITS.linkMs;
      const token = tokens.seal(JSON.stringify([...partsOf(target), endsAt]));
      return { token, expiresAt: new Date(endsAt) };
    },
    /** @returns null for an expired token, and for every token that `seal` did not create. */
    open(token: string): LinkTarget | null {
      const text = tokens.open(token);
      if (text === null) return null;
      const [message, attachment, endsAt] = contents.parse(JSON.parse(text));
      if (clock.now().getTime() >= endsAt) return null;
      const emailId = parseId('email', message);
      return emailId === null
        ? { messageId: message as MessageId, attachmentId: attachment as AttachmentId | null }
        : { emailId, position: Number(attachment) };
    },
  };
}

function partsOf(target: LinkTarget): [message: string, attachment: string | null] {
  return 'emailId' in target
    ? [target.emailId, String(target.position)]
    : [target.messageId, target.attachmentId];
}
