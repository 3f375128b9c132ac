import { parseEmailAddress, plainAddress } from '@postrider/domain';
import type { AccountId, TopicId, UnsubscribeTokens } from '@postrider/domain';

/** As much of a message as says who can unsubscribe with it, and from what. */
interface MailAboutTopic {
  readonly accountId: AccountId;
  readonly draft: {
    readonly to: readonly string[];
    readonly cc: readonly string[];
    readonly bcc: readonly string[];
    readonly topicId: TopicId | null;
  };
  /** Addresses that the message is not sent to. */
  readonly suppressed: readonly string[];
}

export interface UnsubscribeUrlParts {
  /** Where recipients reach the API; undefined: nowhere. */
  readonly publicUrl: string | undefined;
  readonly tokens: Pick<UnsubscribeTokens, 'seal'>;
}

/**
 * The URL of RFC 8058 for a message, or null where it has none: without a topic there is nothing to unsubscribe from,
 * and all recipients get one and the same text, so that with two of them either could unsubscribe the other.
 */
export function createUnsubscribeUrls({ publicUrl, tokens }: UnsubscribeUrlParts) {
  return ({ accountId, draft, suppressed }: MailAboutTopic): string | null => {
    const { topicId, to, cc, bcc } = draft;
    if (publicUrl === undefined || topicId === null) return null;
    const left = new Set(suppressed.map(plain));
    const recipients = new Set([...to, ...cc, ...bcc].map(plain).filter((address) => !left.has(address)));
    const [address = null, ...others] = recipients;
    if (address === null || others.length > 0) return null;
    return `${publicUrl}/u/${tokens.seal({ accountId, topicId, address })}`;
  };
}

function plain(recipient: string): string | null {
  return plainAddress(parseEmailAddress(recipient)?.address ?? '');
}
