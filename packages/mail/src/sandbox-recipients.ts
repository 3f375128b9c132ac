import { notificationDetailOf, parseEmailAddress, SANDBOX_DOMAIN } from '@postrider/domain';
import type { NotificationDetail, ProviderNotification } from '@postrider/domain';
import type { AddressedMessage } from './mail-provider.ts';

/** What a special recipient makes the sandbox report; the words are those SES uses. */
const REPORTS = {
  delivered: () => ({
    type: 'email.delivered',
    detail: { smtp_response: '250 2.0.0 OK: queued by the sandbox' },
  }),
  bounced: (address) => ({
    type: 'email.bounced',
    detail: {
      bounce_type: 'Permanent',
      bounce_sub_type: 'General',
      diagnostic: `smtp; 550 5.1.1 <${address}>: Recipient address rejected: User unknown`,
    },
  }),
  'soft-bounced': () => ({
    type: 'email.soft_bounced',
    detail: {
      bounce_type: 'Transient',
      bounce_sub_type: 'MailboxFull',
      diagnostic: 'smtp; 452 4.2.2 The email account that you tried to reach is over quota',
    },
  }),
  complained: () => ({ type: 'email.complained', detail: { complaint_type: 'abuse' } }),
  delayed: () => ({
    type: 'email.delivery_delayed',
    detail: { diagnostic: 'smtp; 421 4.4.1 Unable to connect to remote host' },
  }),
  rejected: () => ({ type: 'email.rejected', detail: { reject_reason: 'Bad content' } }),
  opened: () => ({ type: 'email.opened', detail: {} }),
  clicked: () => ({ type: 'email.clicked', detail: { link: 'https://sandbox.postrider.example/clicked' } }),
} as const satisfies Record<
  string,
  (address: string) => { type: ProviderNotification['type']; detail: Partial<NotificationDetail> }
>;

/** The names of those that make a report. */
export const REPORTING_NAMES = Object.keys(REPORTS) as (keyof typeof REPORTS)[];

/** The special recipients of one message, by what their name asks for. */
export interface SandboxRecipients {
  /** `refused@`: the provider refuses the whole message. */
  readonly refused: readonly string[];
  /** `deferred@` (an addition of the sandbox): the provider is not available now, on every try. */
  readonly deferred: readonly string[];
  /** One for each kind of recipient, in a fixed order; several recipients of a kind share one. */
  readonly notifications: readonly ProviderNotification[];
}

/** Reads to, cc and bcc. A `+tag` after the name changes nothing: `bounced+42@…` acts as `bounced@…`. */
export function sandboxRecipients(message: Pick<AddressedMessage, 'to' | 'cc' | 'bcc'>): SandboxRecipients {
  const addresses = [...message.to, ...message.cc, ...message.bcc].flatMap(
    (text) => parseEmailAddress(text)?.address ?? [],
  );
  const called = (name: string) => [...new Set(addresses)].filter((address) => specialName(address) === name);
  return {
    refused: called('refused'),
    deferred: called('deferred'),
    notifications: REPORTING_NAMES.flatMap((name) => notificationOf(name, called(name))),
  };
}

function notificationOf(name: keyof typeof REPORTS, recipients: readonly string[]): ProviderNotification[] {
  const [first] = recipients;
  if (first === undefined) return [];
  const { type, detail } = REPORTS[name](first);
  return [{ type, recipients, detail: notificationDetailOf(detail) }];
}

/** The name before any `+tag` of an address at the sandbox's domain, else null. */
function specialName(address: string): string | null {
  const [local = '', domain = ''] = address.toLowerCase().split('@');
  return domain === SANDBOX_DOMAIN ? (local.split('+')[0] ?? null) : null;
}
