import { randomUUID } from 'node:crypto';

type Status = 'PENDING' | 'SUCCESS' | 'FAILED' | 'TEMPORARY_FAILURE' | 'NOT_STARTED';

/** An identity as GetEmailIdentity shows it, as far as this fake knows one. */
export interface FakeIdentity {
  VerifiedForSendingStatus: boolean;
  VerificationStatus: Status;
  DkimAttributes: { Status: Status; Tokens: string[]; SigningHostedZone?: string };
  MailFromAttributes?: { MailFromDomain: string; MailFromDomainStatus: Status; BehaviorOnMxFailure: string };
  Tags: { Key: string; Value: string }[];
}

/** A new identity that nobody has verified, with three DKIM tokens of its own. */
export function newIdentity(tags: FakeIdentity['Tags'] = []): FakeIdentity {
  return {
    VerifiedForSendingStatus: false,
    VerificationStatus: 'PENDING',
    DkimAttributes: { Status: 'PENDING', Tokens: Array.from({ length: 3 }, dkimToken) },
    Tags: tags,
  };
}

/** The domain's own keys are found in its DNS: SES sends for it. */
export function publishKeys(identity: FakeIdentity): void {
  identity.VerifiedForSendingStatus = true;
  identity.VerificationStatus = 'SUCCESS';
  identity.DkimAttributes.Status = 'SUCCESS';
}

function dkimToken(): string {
  return randomUUID().replaceAll('-', '');
}
