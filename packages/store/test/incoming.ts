import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage } from '../src/inbound/received-message-store.ts';

/** On which every account of the tests may have inboxes. */
export const SHARED_DOMAIN = 'in.example';

/** A message to `a@` the shared domain that nobody has sent before. */
export function incoming(more: Partial<IncomingMessage> = {}): IncomingMessage {
  return {
    digest: createHash('sha256').update(randomUUID()).digest(),
    blob: 'b'.repeat(64),
    size: 1_000,
    recipients: [`a@${SHARED_DOMAIN}`],
    senders: ['ann@news.shop.example'],
    messageId: `${randomUUID()}@mail.example`,
    inReplyTo: null,
    references: [],
    from: 'Ann <ann@news.shop.example>',
    to: [`a@${SHARED_DOMAIN}`],
    cc: [],
    replyTo: [],
    subject: 'Hi',
    text: 'Hello',
    html: null,
    headers: [{ name: 'Subject', value: 'Hi' }],
    attachments: [],
    auth: { spf: 'pass', dkim: 'none', dmarc: 'none' },
    automatic: false,
    complete: true,
    heldReason: null,
    ...more,
  };
}
