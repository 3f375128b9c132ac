import { plainAddresses } from '@postrider/domain';
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
    const recipients = plainAddresses([...to, ...cc, ...bcc]).filter((each) => !suppressed.includes(each));
    const [address, ...others] = recipients;
    if (address === undefined || others.length > 0) return null;
    return `${publicUrl}/u/${tokens.seal({ accountId, topicId, address })}`;
  };
}
