import type { GetEmailIdentityResponse, VerificationStatus } from '@aws-sdk/client-sesv2';
import type { DomainRecord, SendingDomain, SendingDomainStatus } from '../domain-provider.ts';

/** As much of an identity as its records are made of; what creates an identity answers with less than what gets it. */
export type Identity = Pick<
  GetEmailIdentityResponse,
  'DkimAttributes' | 'MailFromAttributes' | 'VerificationStatus' | 'VerifiedForSendingStatus'
>;

/** Where SES publishes DKIM keys, in the regions that do not name a zone of their own. */
const DKIM_ZONE = 'dkim.amazonses.com';
const MX_PRIORITY = 10;

/** The return path of a domain, as Resend has it: bounces go to SES, and SPF speaks of a name of its own. */
export function returnPathOf(domain: string): string {
  return `send.${domain}`;
}

/** Reads an identity: whether SES sends for the domain now, and the records that its owner publishes for it. */
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
  const both = {
    record: 'SPF',
    name: mailFrom?.MailFromDomain ?? returnPathOf(domain),
    ttl: 'Auto',
    status: recordStatus(mailFrom?.MailFromDomainStatus),
  } as const;
  return [
    { ...both, type: 'MX', value: `feedback-smtp.${region}.amazonses.com`, priority: MX_PRIORITY },
    { ...both, type: 'TXT', value: 'v=spf1 include:amazonses.com ~all' },
  ];
}

const STATUSES: Readonly<Record<VerificationStatus, DomainRecord['status']>> = {
  NOT_STARTED: 'not_started',
  PENDING: 'pending',
  SUCCESS: 'verified',
  FAILED: 'failed',
  TEMPORARY_FAILURE: 'temporary_failure',
};

/** A word that SES did not have when this was written is a check that goes on. */
function recordStatus(status: VerificationStatus | undefined): DomainRecord['status'] {
  if (status === undefined) return 'not_started';
  return (STATUSES as Readonly<Record<string, DomainRecord['status']>>)[status] ?? 'pending';
}
