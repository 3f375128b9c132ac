import type { AccountId, EmailId } from '@postrider/domain';
import type { OutgoingMessage } from '../src/mail-provider.ts';

/** A small message from `Acme <orders@mail.example.com>` to one recipient, with `change` over it. */
export function outgoingMessage(change: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return {
    emailId: 'em_01jd0000000000000000000001' as EmailId,
    accountId: 'acct_01jd0000000000000000000002' as AccountId,
    createdAt: new Date('2026-11-20T10:15:30.000Z'),
    from: 'Acme <orders@mail.example.com>',
    to: ['jane@example.net'],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Your order',
    html: null,
    text: 'Thank you.',
    headers: {},
    attachments: [],
    tags: [],
    suppressed: [],
    only: null,
    unsubscribeUrl: null,
    ...change,
  };
}
