import type { EmailId } from '@postrider/domain';
import { messageIdOf } from './compose.ts';

export interface SentMessage {
  readonly emailId: EmailId;
  readonly from: string;
  /** By which the provider knows it; null when it says none, or was not asked yet. */
  readonly providerMessageId: string | null;
}

/**
 * The Message-IDs, without brackets, by which the readers of a sent message may know it, the likeliest last. SES writes its own
 * over ours: `<id@email.amazonses.com>` in us-east-1, `<id@REGION.amazonses.com>` elsewhere.
 *
 * @param awsRegion of SES; undefined: mail goes another way.
 */
export function sentMessageIds(message: SentMessage, awsRegion: string | undefined): string[] {
  const own = messageIdOf(message).slice(1, -1);
  const { providerMessageId: id } = message;
  if (id === null || awsRegion === undefined || id.includes('@')) return [own];
  return [own, `${id}@${awsRegion === 'us-east-1' ? 'email' : awsRegion}.amazonses.com`];
}
