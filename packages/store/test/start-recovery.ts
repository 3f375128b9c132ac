import type { Clock, RecoveryId } from '@postrider/domain';
import { ACTOR } from '@postrider/testing';
import type { Database } from '../src/db/database.ts';
import { createRecoveryStore } from '../src/recoveries/recoveries.ts';
import type { NewRecovery, Recovery } from '../src/recoveries/recoveries.ts';
import type { Outage } from './outage.ts';

interface Parts {
  readonly db: Database;
  readonly clock: Clock;
}

/** Starts a recovery of the last day's undelivered events, 200 a second. @throws Error when it is refused */
export async function startRecovery(
  { db, clock }: Parts,
  { accountId, webhookId }: Pick<Outage, 'accountId' | 'webhookId'>,
  change: Partial<NewRecovery> = {},
): Promise<RecoveryId> {
  const since = new Date(Date.now() - 24 * 3_600_000);
  const request = { since, types: [], only: 'undelivered', rate: 200, ...change } as const;
  const outcome = await createRecoveryStore(db, clock).start(accountId, webhookId, request, ACTOR);
  if (outcome.kind !== 'started') throw new Error(outcome.kind);
  return outcome.id;
}

/** Null: the webhook has no such recovery. */
export async function findRecovery(
  { db, clock }: Parts,
  { accountId, webhookId }: Pick<Outage, 'accountId' | 'webhookId'>,
  id: RecoveryId,
): Promise<Recovery | null> {
  return createRecoveryStore(db, clock).find(accountId, webhookId, id);
}
