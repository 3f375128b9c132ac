import { notificationDetailOf, parseEmailAddress, SANDBOX_RECIPIENT_DOMAIN } from '@postrider/domain';
import type { NotificationDetail, ProviderNotification } from '@postrider/domain';
import type { AddressedMessage } from './mail-provider.ts';

/** The notification that each special recipient causes, in the words of SES. */
const NOTIFICATIONS = {
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

/** The local parts that cause a notification. */
export const NOTIFYING_NAMES = Object.keys(NOTIFICATIONS) as (keyof typeof NOTIFICATIONS)[];

/** A message's special recipients, grouped by their effect. */
export interface SandboxRecipients {
  /** `refused@`: the provider refuses the whole message. */
  readonly refused: readonly string[];
  /** `deferred@`: the provider is unavailable on every attempt. */
  readonly deferred: readonly string[];
  /** One notification per local part in `NOTIFYING_NAMES`. Recipients with the same local part share it. */
  readonly notifications: readonly ProviderNotification[];
}

/** Reads to, cc and bcc. It ignores a `+tag`: `bounced+42@…` acts as `bounced@…`. */
export function sandboxRecipients(message: Pick<AddressedMessage, 'to' | 'cc' | 'bcc'>): SandboxRecipients {
  const addresses = [...message.to, ...message.cc, ...message.bcc].flatMap(
    (text) => parseEmailAddress(text)?.address ?? [],
  );
  const named = (name: string) => [...new Set(addresses)].filter((address) => specialName(address) === name);
  return {
    refused: named('refused'),
    deferred: named('deferred'),
    notifications: NOTIFYING_NAMES.flatMap((name) => notificationOf(name, named(name))),
  };
}

function notificationOf(
  name: keyof typeof NOTIFICATIONS,
  recipients: readonly string[],
): ProviderNotification[] {
  const [first] = recipients;
  if (first === undefined) return [];
  const { type, detail } = NOTIFICATIONS[name](first);
  return [{ type, recipients, detail: notificationDetailOf(detail) }];
}

/** The local part without its `+tag`. Null when the address is not at `SANDBOX_RECIPIENT_DOMAIN`. */
function specialName(address: string): string | null {
  const [local = '', domain = ''] = address.toLowerCase().split('@');
  return domain === SANDBOX_RECIPIENT_DOMAIN ? (local.split('+')[0] ?? null) : null;
}
