import { randomUUID } from 'node:crypto';

type Status = 'PENDING' | 'SUCCESS' | 'FAILED' | 'TEMPORARY_FAILURE' | 'NOT_STARTED';

/** The fields of GetEmailIdentity that this fake knows. */
export interface FakeIdentity {
  VerifiedForSendingStatus: boolean;
  VerificationStatus: Status;
  DkimAttributes: { Status: Status; Tokens: string[]; SigningHostedZone?: string };
  /** True when SES mails bounces and complaints to the sender. */
  FeedbackForwardingStatus: boolean;
  MailFromAttributes?: { MailFromDomain: string; MailFromDomainStatus: Status; BehaviorOnMxFailure: string };
  Tags: { Key: string; Value: string }[];
}

/** A new unverified identity with three new DKIM tokens. */
export function newIdentity(tags: FakeIdentity['Tags'] = []): FakeIdentity {
  return {
    VerifiedForSendingStatus: false,
    VerificationStatus: 'PENDING',
    DkimAttributes: { Status: 'PENDING', Tokens: Array.from({ length: 3 }, dkimToken) },
    FeedbackForwardingStatus: true,
    Tags: tags,
  };
}

/** The DNS of the domain now has its keys: SES has found them, and sends for the domain. */
export function publishKeys(identity: FakeIdentity): void {
  identity.VerifiedForSendingStatus = true;
  identity.VerificationStatus = 'SUCCESS';
  identity.DkimAttributes.Status = 'SUCCESS';
}

function dkimToken(): string {
  return randomUUID().replaceAll('-', '');
}
