import type { Pool } from 'pg';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import { queryOn } from '../db/database.ts';
import type { Database } from '../db/database.ts';
import { inTransaction } from '../db/pool.ts';

/** The values of the setting `MAIL_PROVIDER`. */
export const MAIL_PROVIDERS = ['sandbox', 'smtp', 'ses'] as const;
export type MailProviderName = (typeof MAIL_PROVIDERS)[number];

/** Used when no provider is stored. */
export const MAIL_PROVIDER_DEFAULT: MailProviderName = 'sandbox';

/** The source of a process's provider. `kept`: from Postgres. */
export type MailProviderOrigin = 'environment' | 'kept' | 'default';

export interface AgreedMailProvider {
  readonly name: MailProviderName;
  readonly origin: MailProviderOrigin;
}

const INSERT = 'insert into installation (mail_provider) values ($1) on conflict do nothing';
const STORED = 'select mail_provider as name from installation';

/**
 * Finds the installation's one provider. The first process that names a provider stores it for all.
 *
 * @param given the provider in this process's environment; undefined: none.
 * @throws Error when another provider is stored. The message names the command that changes it.
 * @throws StoreUnavailableError
 */
export async function agreeOnMailProvider(
  { pool }: Pick<Database, 'pool'>,
  given: MailProviderName | undefined,
): Promise<AgreedMailProvider> {
  if (given !== undefined) {
    await queryOn(pool, INSERT, [given]);
  }
  const stored = await storedMailProvider(pool);
  if (given === undefined) {
    return stored === null
      ? { name: MAIL_PROVIDER_DEFAULT, origin: 'default' }
      : { name: stored, origin: 'kept' };
  }
  if (given === stored) return { name: given, origin: 'environment' };
  throw new Error(
    `MAIL_PROVIDER is ${given}, and this installation keeps ${stored}; to change that, run ` +
      `\`postrider installation set mail-provider ${given}\`, then restart every API, worker and inbound process`,
  );
}

/**
 * Changes the stored provider. Running processes keep the provider that they read at their start.
 *
 * @returns the provider that was stored before, or null.
 */
export async function setMailProvider(
  db: Database,
  name: MailProviderName,
  by: Actor,
): Promise<MailProviderName | null> {
  return inTransaction(db.pool, async (client) => {
    const { rowCount: inserted } = await client.query(INSERT, [name]);
    const { rows } = await client.query<{ name: MailProviderName }>(`${STORED} for no key update`);
    const was = inserted === 0 ? (rows[0]?.name ?? null) : null;
    if (was === name) return was;
    await client.query('update installation set mail_provider = $1', [name]);
    await recordAudit(client, by, {
      action: 'installation.set',
      accountId: null,
      target: 'mail-provider',
      count: 1,
      before: { value: was },
      after: { value: name },
    });
    return was;
  });
}

/** @returns the stored provider, or null. @throws StoreUnavailableError */
export async function storedMailProvider(pool: Pool): Promise<MailProviderName | null> {
  const { rows } = await queryOn<{ name: MailProviderName }>(pool, STORED);
  return rows[0]?.name ?? null;
}
