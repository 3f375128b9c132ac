import type { AccountId, EmailDraft, EmailId, WebhookId } from '@postrider/domain';
import { createDeliveryWork } from '../src/deliveries/delivery-work.ts';
import { createEmailStore } from '../src/mail/emails.ts';
import { createMailWork } from '../src/mail/mail-work.ts';
import { draftOf } from './draft.ts';
import { accepted } from './mail-outcomes.ts';
import type { TestStore } from './open-store.ts';
import { takeHeld } from './taken-email.ts';

const NOBODY = { to: ['ada@a.example'], cc: [], bcc: [], replyTo: [] };

/** Live mail that waits to be handed over. */
export async function sendMail(
  store: TestStore,
  accountId: AccountId,
  change: Partial<EmailDraft>,
): Promise<EmailId> {
  const sent = await createEmailStore(store.db, store.clock).send({
    accountId,
    kind: 'live',
    drafts: [draftOf({ ...NOBODY, ...change })],
    domains: [],
    idempotency: null,
  });
  if (sent.kind !== 'stored') throw new Error(sent.kind);
  return sent.ids[0] as EmailId;
}

/** Hands a message over; its `email.sent` is made. */
export async function sendToProvider(store: TestStore, id: EmailId): Promise<void> {
  const work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
  const taken = await takeHeld(work, { emailId: id, claim: 0 });
  if ((await work.recordAlone(taken, accepted({ providerMessageId: null, notifications: [] }))) === null)
    throw new Error('not sent');
}

/** Ends every outstanding delivery of the webhook, each with an attempt. */
export async function endDeliveries(
  store: TestStore,
  webhookId: WebhookId,
  result: 'done' | 'dead',
): Promise<void> {
  const work = createDeliveryWork(store.db.pool, store.db.pool);
  const waiting = await store.outside.query<{ deliveryId: string; claim: number }>(
    'select id as "deliveryId", claim, event_id as "eventId", webhook_id as "webhookId" from deliveries where webhook_id = $1',
    [webhookId],
  );
  const ended = waiting.map((row, n) => ({
    ...row,
    startedAgoMs: 2,
    durationMs: 1,
    answer: null,
    statusCode: 410,
    error: 'HTTP 410',
    deadLetterId: `dl_${row.deliveryId}_${n}`,
    reason: 'rejected',
    requestMade: true,
  }));
  await work[result](ended as never);
}
