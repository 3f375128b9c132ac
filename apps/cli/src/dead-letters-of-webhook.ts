import type { AccountId, DeadLetterId, WebhookId } from '@postrider/domain';
import type { Database } from '@postrider/store';

/** Ids are read this many at a time: a webhook may have a hundred thousand. */
const PAGE_SIZE = 500;

export interface WebhookOfAccount {
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
}

/**
 * The ids of a webhook's dead letters, the oldest first, in pages. Only those made until `until`: a replayed event
 * that fails again at once would otherwise come round for ever.
 */
export async function* deadLettersOfWebhook(
  database: Database,
  { accountId, webhookId }: WebhookOfAccount,
  until: Date,
): AsyncGenerator<DeadLetterId[]> {
  let after = '';
  for (;;) {
    const rows = await database.prisma.deadLetter.findMany({
      where: { accountId, webhookId, createdAt: { lte: until }, id: { gt: after } },
      orderBy: { id: 'asc' },
      take: PAGE_SIZE,
      select: { id: true },
    });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map((row) => row.id as DeadLetterId);
    after = last.id;
  }
}
