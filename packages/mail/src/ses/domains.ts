import {
  CreateEmailIdentityCommand,
  DeleteEmailIdentityCommand,
  GetEmailIdentityCommand,
  PutEmailIdentityFeedbackAttributesCommand,
  PutEmailIdentityMailFromAttributesCommand,
} from '@aws-sdk/client-sesv2';
import type { SESv2Client } from '@aws-sdk/client-sesv2';
import type { AccountId } from '@postrider/domain';
import type { DomainAnswer, DomainProvider } from '../domain-provider.ts';
import { SesClient } from './client.ts';
import type { CommandOptions, SesOptions } from './client.ts';
import { returnPathOf, sendingDomain } from './domain-records.ts';
import type { Identity } from './domain-records.ts';
import { readFault, unreadable } from './fault.ts';

/** Names the account that we created an identity for. An identity without this tag is not ours. */
const OWNER_TAG = 'postrider-account';

export type SesDomainOptions = Pick<SesOptions, 'region' | 'timeoutMs' | 'configurationSet'>;

/** Sending domains as identities of Amazon SES with Easy DKIM and a MAIL FROM domain. */
export function createSesDomains(options: SesDomainOptions): DomainProvider {
  const { region, configurationSet } = options;
  const client = new SesClient(options);
  const answerOf = async <Value>(
    work: (sdk: SESv2Client, commandOptions: CommandOptions) => Promise<Value>,
  ): Promise<DomainAnswer<Value>> => {
    try {
      return { kind: 'ok', value: await client.operation(work) };
    } catch (error) {
      const { kind, sentence, code } = readFault(error);
      const isPassing = kind === 'passing' || kind === 'throttled';
      return { kind: isPassing ? 'unavailable' : 'refused', detail: sentence, code };
    }
  };

  return {
    region,
    create: ({ domain, accountId }) =>
      answerOf(async (sdk, commandOptions) => {
        const { identity, isNew } = await createIdentity(sdk, domain, accountId, commandOptions);
        try {
          await setReturnPath(sdk, domain, commandOptions);
          if (configurationSet !== undefined) await endReportsByMail(sdk, domain, commandOptions);
        } catch (error) {
          // If this fails too, the next call finds the identity by its tag.
          if (isNew) await deleteIdentity(sdk, domain, commandOptions).catch(() => undefined);
          throw error;
        }
        return sendingDomain(domain, region, identity);
      }),
    get: (domain) =>
      answerOf(async (sdk, commandOptions) => {
        const command = new GetEmailIdentityCommand({ EmailIdentity: domain });
        const identity = await sdk.send(command, commandOptions).catch(nullIfMissing);
        if (identity === null) return null;
        if (identity.VerifiedForSendingStatus === undefined) throw unreadable(identity);
        return sendingDomain(domain, region, identity);
      }),
    delete: (domain) => answerOf((sdk, commandOptions) => deleteIdentity(sdk, domain, commandOptions)),
    close: () => client.close(),
  };
}

/**
 * Creates the identity, or finds the one that an earlier call for the same account left behind. It changes no
 * other identity: otherwise this account could then send in the name of that identity's owner.
 */
async function createIdentity(
  sdk: SESv2Client,
  domain: string,
  accountId: AccountId,
  commandOptions: CommandOptions,
): Promise<{ identity: Identity; isNew: boolean }> {
  try {
    const command = new CreateEmailIdentityCommand({
      EmailIdentity: domain,
      Tags: [{ Key: OWNER_TAG, Value: accountId }],
    });
    return { identity: await sdk.send(command, commandOptions), isNew: true };
  } catch (error) {
    if (readFault(error).name !== 'AlreadyExistsException') throw error;
    const found = await sdk.send(new GetEmailIdentityCommand({ EmailIdentity: domain }), commandOptions);
    if (!found.Tags?.some(({ Key, Value }) => Key === OWNER_TAG && Value === accountId)) throw error;
    return { identity: found, isNew: false };
  }
}

/** SES uses its own return path until it finds the MX record. Mail is sent in the meantime. */
async function setReturnPath(
  sdk: SESv2Client,
  domain: string,
  commandOptions: CommandOptions,
): Promise<void> {
  const command = new PutEmailIdentityMailFromAttributesCommand({
    EmailIdentity: domain,
    MailFromDomain: returnPathOf(domain),
    BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
  });
  await sdk.send(command, commandOptions);
}

/**
 * A new identity sends each bounce and complaint as mail to the sender, too. Without a configuration set,
 * this mail is the only report.
 */
async function endReportsByMail(
  sdk: SESv2Client,
  domain: string,
  commandOptions: CommandOptions,
): Promise<void> {
  const command = new PutEmailIdentityFeedbackAttributesCommand({
    EmailIdentity: domain,
    EmailForwardingEnabled: false,
  });
  await sdk.send(command, commandOptions);
}

async function deleteIdentity(
  sdk: SESv2Client,
  domain: string,
  commandOptions: CommandOptions,
): Promise<null> {
  await sdk
    .send(new DeleteEmailIdentityCommand({ EmailIdentity: domain }), commandOptions)
    .catch(nullIfMissing);
  return null;
}

function nullIfMissing(error: unknown): null {
  if (readFault(error).name !== 'NotFoundException') throw error;
  return null;
}
