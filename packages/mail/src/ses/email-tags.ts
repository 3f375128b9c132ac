import type { MessageTag } from '@aws-sdk/client-sesv2';
import type { AddressedMessage } from '../mail-provider.ts';

/** By it a notification finds its message. */
const EMAIL_ID = 'email_id';
/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_MessageTag.html */
const ALLOWED = /^[A-Za-z0-9_-]{1,256}$/;
/** SES limits tags of other kinds to 50; of these it does not say. */
const TAGS_MAX = 50;

/**
 * Our id and the customer's tags, the first of each name. A tag that SES would refuse is left out: the customer
 * reads it from the API, and a message does not fail for its label.
 */
export function emailTags({ emailId, tags }: Pick<AddressedMessage, 'emailId' | 'tags'>): MessageTag[] {
  const byName = new Map<string, string>([[EMAIL_ID, emailId]]);
  for (const { name, value } of tags) {
    if (ALLOWED.test(name) && ALLOWED.test(value) && !byName.has(name)) byName.set(name, value);
  }
  return Array.from(byName, ([Name, Value]) => ({ Name, Value })).slice(0, TAGS_MAX);
}
