import { apiKeyDigest } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { createAccountStore, createApiKeyStore } from '@postrider/store';
import type { Database } from '@postrider/store';
import type { DemonstrationFile } from '../state/demonstration-file.ts';

export interface Identity {
  readonly accountId: string;
  readonly key: string;
  /** False: an earlier start made the account and the key. */
  readonly fresh: boolean;
}

const SCOPES = [
  'emails:send',
  'emails:read',
  'webhooks:manage',
  'suppressions:manage',
  'inbound:manage',
  'inbound:send',
] as const;

/** Returns the last start's account and key if the key works and has all scopes. Otherwise makes new ones. */
export async function ensureIdentity(database: Database, file: DemonstrationFile): Promise<Identity> {
  const keys = createApiKeyStore(database, systemClock);
  const kept = file.read();
  if (kept.key !== undefined) {
    const known = await keys.findActive(apiKeyDigest(kept.key));
    if (known !== null && SCOPES.every((scope) => known.scopes.includes(scope)))
      return { accountId: known.accountId, key: kept.key, fresh: false };
  }
  const account = await createAccountStore(database, systemClock).create('Quickstart');
  const request = { accountId: account.id, kind: 'live', scopes: SCOPES, rateLimitPerMinute: null } as const;
  const actor = { kind: 'cli', name: 'npm start' } as const;
  const { key } = await keys.create(request, actor);
  file.keep({ accountId: account.id, key });
  return { accountId: account.id, key, fresh: true };
}
