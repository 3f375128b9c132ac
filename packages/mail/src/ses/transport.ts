import { SendEmailCommand } from '@aws-sdk/client-sesv2';
import type { MessageTag, SendEmailRequest } from '@aws-sdk/client-sesv2';
import type { ProviderResult } from '@postrider/domain';
import { withComposed } from '../compose.ts';
import type { ComposedMessage } from '../compose.ts';
import type { AddressedMessage, MailTransport } from '../mail-provider.ts';
import { SesClient } from './client.ts';
import type { SesOptions } from './client.ts';
import { readFault, unreadable } from './fault.ts';

/** A notification finds its message by this tag. */
const EMAIL_ID = 'email_id';
/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_MessageTag.html */
const TAG_PART = /^[A-Za-z0-9_-]{1,256}$/;
/** SES may answer with this exception when the quota of a day is used up. */
const DAILY_QUOTA = 'LimitExceededException';
/** SES limits the tags of its resources to 50. It states no limit for the tags of a message. */
const TAGS_MAX = 50;

/**
 * Sends mail through Amazon SES, API v2, as raw MIME. The message is refused only when SES rejects the
 * message itself. Throttling is a result of its own. A fault of our account, credentials or configuration
 * defers the message, as every other failure does.
 */
export function createSesTransport(options: SesOptions): MailTransport {
  const client = new SesClient(options);
  return {
    send: (message) =>
      withComposed(message, async (composed) => {
        const request = sendRequest(message, composed, options.configurationSet);
        try {
          const answer = await client.operation((sdk, commandOptions) =>
            sdk.send(new SendEmailCommand(request), commandOptions),
          );
          if (answer.MessageId === undefined) throw unreadable(answer);
          return { kind: 'accepted', providerMessageId: answer.MessageId, notifications: [] };
        } catch (error) {
          return resultOfFault(error);
        }
      }),
    close: () => client.close(),
  };
}

function resultOfFault(error: unknown): ProviderResult {
  const { kind, name, sentence, code } = readFault(error);
  if (kind === 'final') return { kind: 'refused', error: sentence };
  const isThrottled = kind === 'throttled' || name === DAILY_QUOTA;
  return { kind: isThrottled ? 'throttled' : 'deferred', error: sentence, code };
}

/**
 * Leaves out `FromEmailAddress`: SES would replace the message's From header and its display name with it.
 */
function sendRequest(
  message: AddressedMessage,
  { recipients, bytes }: ComposedMessage,
  configurationSet: string | undefined,
): SendEmailRequest {
  return {
    Destination: { ToAddresses: recipients.to, CcAddresses: recipients.cc, BccAddresses: recipients.bcc },
    Content: { Raw: { Data: bytes } },
    EmailTags: emailTags(message),
    ...(configurationSet === undefined ? {} : { ConfigurationSetName: configurationSet }),
  };
}

/**
 * Our id and the customer's tags. The first tag of each name counts. A tag that SES would reject is left out,
 * so that a label cannot make a message fail. Our API still shows this tag.
 */
function emailTags({ emailId, tags }: Pick<AddressedMessage, 'emailId' | 'tags'>): MessageTag[] {
  const byName = new Map<string, string>([[EMAIL_ID, emailId]]);
  for (const { name, value } of tags) {
    if (TAG_PART.test(name) && TAG_PART.test(value) && !byName.has(name)) byName.set(name, value);
  }
  return Array.from(byName, ([Name, Value]) => ({ Name, Value })).slice(0, TAGS_MAX);
}
