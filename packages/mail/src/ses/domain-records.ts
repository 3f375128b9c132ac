import type { GetEmailIdentityResponse, VerificationStatus } from '@aws-sdk/client-sesv2';
import type { DomainRecord, SendingDomain, SendingDomainStatus } from '../domain-provider.ts';

/** The fields that the records need. SES returns fewer fields when it creates an identity. */
export type Identity = Pick<
  GetEmailIdentityResponse,
  'DkimAttributes' | 'MailFromAttributes' | 'VerificationStatus' | 'VerifiedForSendingStatus'
>;

/** The zone of SES's DKIM keys when the identity names no `SigningHostedZone`. */
const DKIM_ZONE = 'dkim.amazonses.com';
const MX_PRIORITY = 10;

/**
 * The domain's return path, named as Resend names it. Its MX record sends bounces to SES. Its SPF record
 * leaves that of the domain itself unchanged.
 */
export function returnPathOf(domain: string): string {
  return `send.${domain}`;
}

/** Reads an identity: whether SES sends for the domain, and the records that its owner must publish. */
export function sendingDomain(domain: string, region: string, identity: Identity): SendingDomain {
  return {
    status: domainStatus(identity),
    records: [...returnPathRecords(domain, region, identity), ...dkimRecords(domain, identity)],
  };
}

function domainStatus({ VerifiedForSendingStatus, VerificationStatus }: Identity): SendingDomainStatus {
  if (VerifiedForSendingStatus === true) return 'verified';
  const status = recordStatus(VerificationStatus);
  return status === 'failed' || status === 'temporary_failure' ? status : 'pending';
}

function dkimRecords(domain: string, { DkimAttributes }: Identity): DomainRecord[] {
  const zone = DkimAttributes?.SigningHostedZone ?? DKIM_ZONE;
  return (DkimAttributes?.Tokens ?? []).map((token) => ({
    record: 'DKIM',
    name: `${token}._domainkey.${domain}`,
    type: 'CNAME',
    ttl: 'Auto',
    status: recordStatus(DkimAttributes?.Status),
    value: `${token}.${zone}`,
  }));
}

/** https://docs.aws.amazon.com/ses/latest/dg/mail-from.html */
function returnPathRecords(
  domain: string,
  region: string,
  { MailFromAttributes: mailFrom }: Identity,
): DomainRecord[] {
  const shared = {
    record: 'SPF',
    name: mailFrom?.MailFromDomain ?? returnPathOf(domain),
    ttl: 'Auto',
    status: recordStatus(mailFrom?.MailFromDomainStatus),
  } as const;
  return [
    { ...shared, type: 'MX', value: `feedback-smtp.${region}.amazonses.com`, priority: MX_PRIORITY },
    { ...shared, type: 'TXT', value: 'v=spf1 include:amazonses.com ~all' },
  ];
}

const STATUSES: Readonly<Record<VerificationStatus, DomainRecord['status']>> = {
  NOT_STARTED: 'not_started',
  PENDING: 'pending',
  SUCCESS: 'verified',
  FAILED: 'failed',
  TEMPORARY_FAILURE: 'temporary_failure',
};

/** A status that we do not know counts as a check in progress. */
function recordStatus(status: VerificationStatus | undefined): DomainRecord['status'] {
  if (status === undefined) return 'not_started';
  return (STATUSES as Readonly<Record<string, DomainRecord['status']>>)[status] ?? 'pending';
}
