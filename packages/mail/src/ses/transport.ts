import { SendEmailCommand } from '@aws-sdk/client-sesv2';
import type { SendEmailRequest } from '@aws-sdk/client-sesv2';
import type { ProviderResult } from '@postrider/domain';
import { composeMessage } from '../compose.ts';
import type { AddressedMessage, MailTransport } from '../mail-provider.ts';
import { createSesClient } from './client.ts';
import { emailTags } from './email-tags.ts';
import { readFault } from './fault.ts';
import type { SesOptions } from './options.ts';

/**
 * Hands mail to Amazon SES, API v2, as raw MIME. What SES says about the message is its answer; what it says about
 * our account, credentials or configuration is not the message's fault and deferred, as is every other failure.
 */
export function createSesTransport(options: SesOptions): MailTransport {
  const client = createSesClient(options);
  return {
    name: 'ses',
    async send(message) {
      const request = await sendRequest(message, options.configurationSet);
      try {
        const { MessageId } = await client.operation((sdk, commandOptions) =>
          sdk.send(new SendEmailCommand(request), commandOptions),
        );
        return { kind: 'accepted', providerMessageId: MessageId ?? null, notifications: [] };
      } catch (error) {
        return resultOfFault(error);
      }
    },
    close() {
      client.close();
      return Promise.resolve();
    },
  };
}

function resultOfFault(error: unknown): ProviderResult {
  const { kind, sentence: words, code } = readFault(error);
  return kind === 'final' ? { kind: 'refused', error: words } : { kind: 'deferred', error: words, code };
}

/** Without `FromEmailAddress`: given, it takes the place of the message's own From header, display name and all. */
async function sendRequest(
  message: AddressedMessage,
  configurationSet: string | undefined,
): Promise<SendEmailRequest> {
  const { recipients, bytes } = await composeMessage(message);
  return {
    Destination: { ToAddresses: recipients.to, CcAddresses: recipients.cc, BccAddresses: recipients.bcc },
    Content: { Raw: { Data: bytes } },
    EmailTags: emailTags(message),
    ...(configurationSet === undefined ? {} : { ConfigurationSetName: configurationSet }),
  };
}
