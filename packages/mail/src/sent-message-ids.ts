import type { EmailId } from '@postrider/domain';
import { messageIdOf } from './compose.ts';

interface SentMessage {
  readonly emailId: EmailId;
  readonly from: string;
  /** SES's id, or the sandbox's whole Message-ID. Null when the provider gave none, or before an attempt. */
  readonly providerMessageId: string | null;
}

/**
 * The Message-IDs, without brackets, that recipients may see, the likeliest last. SES replaces our Message-ID
 * with `<id@email.amazonses.com>` in us-east-1 and with `<id@REGION.amazonses.com>` elsewhere.
 *
 * @param awsRegion `AWS_REGION`, also with the provider `smtp`: its server may be SES. Undefined: the result
 *   is only our own Message-ID.
 */
export function sentMessageIds(message: SentMessage, awsRegion: string | undefined): string[] {
  const own = messageIdOf(message).slice(1, -1);
  const { providerMessageId: id } = message;
  if (id === null || awsRegion === undefined || id.includes('@')) return [own];
  return [own, `${id}@${awsRegion === 'us-east-1' ? 'email' : awsRegion}.amazonses.com`];
}
