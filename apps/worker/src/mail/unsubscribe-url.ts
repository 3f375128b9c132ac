import { parseEmailAddress, plainAddress } from '@postrider/domain';
import type { UnsubscribeTokens } from '@postrider/domain';
import type { TakenEmail } from '@postrider/store';

/** The part of a message that says who can unsubscribe, and from which topic. */
interface MailAboutTopic extends Pick<TakenEmail, 'accountId' | 'suppressed'> {
  readonly draft: Pick<TakenEmail['draft'], 'to' | 'cc' | 'bcc' | 'topicId'>;
}

export interface UnsubscribeUrlParts {
  /** URL where recipients reach the API; undefined: none. */
  readonly publicUrl: string | undefined;
  readonly tokens: Pick<UnsubscribeTokens, 'seal'>;
}

/**
 * The unsubscribe URL of a message (RFC 8058). Null without a topic, because there is nothing to unsubscribe
 * from. Null with several recipients: all get the same text, so one could unsubscribe another.
 */
export function createUnsubscribeUrls({ publicUrl, tokens }: UnsubscribeUrlParts) {
  return ({ accountId, draft, suppressed }: MailAboutTopic): string | null => {
    const { topicId, to, cc, bcc } = draft;
    if (publicUrl === undefined || topicId === null) return null;
    const suppressedPlain = new Set(suppressed.map(plain));
    const recipients = new Set(
      [...to, ...cc, ...bcc].map(plain).filter((address) => !suppressedPlain.has(address)),
    );
    const [address = null, ...others] = recipients;
    if (address === null || others.length > 0) return null;
    return `${publicUrl}/u/${tokens.seal({ accountId, topicId, address })}`;
  };
}

function plain(recipient: string): string | null {
  return plainAddress(parseEmailAddress(recipient)?.address ?? '');
}
