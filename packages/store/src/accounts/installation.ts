import type { Pool } from 'pg';
import type { Database } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';

/** As `MAIL_PROVIDER` names them. */
export const MAIL_PROVIDERS = ['sandbox', 'smtp', 'ses'] as const;
export type MailProviderName = (typeof MAIL_PROVIDERS)[number];

/** What an installation uses that keeps nothing. */
const MAIL_PROVIDER_DEFAULT: MailProviderName = 'sandbox';

/** Who says which provider a process uses: its environment, Postgres, or nobody. */
export type MailProviderOrigin = 'environment' | 'kept' | 'default';

export interface AgreedMailProvider {
  readonly name: MailProviderName;
  readonly origin: MailProviderOrigin;
}

/**
 * The one provider of the installation. Of any number of processes that name one at the same time, the first decides.
 *
 * @param given what this process's environment names; undefined: nothing.
 * @throws Error naming the command that changes it, when the installation keeps another one.
 * @throws StoreUnavailableError
 */
export async function agreeOnMailProvider(
  db: Database,
  given: MailProviderName | undefined,
): Promise<AgreedMailProvider> {
  if (given !== undefined) {
    const data = { mailProvider: given };
    await mappingUnavailable(() => db.prisma.installation.createMany({ data, skipDuplicates: true }));
  }
  const kept = await keptMailProvider(db.pool);
  if (given === undefined) {
    return kept === null
      ? { name: MAIL_PROVIDER_DEFAULT, origin: 'default' }
      : { name: kept, origin: 'kept' };
  }
  if (given === kept) return { name: given, origin: 'environment' };
  throw new Error(
    `MAIL_PROVIDER is ${given}, and this installation keeps ${kept}; to change that, run ` +
      `\`postrider installation set mail-provider ${given}\`, then restart every API and worker`,
  );
}

/**
 * Changes what the installation keeps. Processes that run go on with what they found at their start.
 *
 * @returns what was kept before, or null.
 */
export async function setMailProvider(
  db: Database,
  name: MailProviderName,
): Promise<MailProviderName | null> {
  const before = await keptMailProvider(db.pool);
  await mappingUnavailable(() =>
    db.prisma.installation.upsert({
      where: { single: true },
      create: { mailProvider: name },
      update: { mailProvider: name },
    }),
  );
  return before;
}

/** Null: nothing is kept. @throws StoreUnavailableError */
export async function keptMailProvider(pool: Pool): Promise<MailProviderName | null> {
  const { rows } = await mappingUnavailable(() =>
    pool.query<{ mail_provider: MailProviderName }>('select mail_provider from installation'),
  );
  return rows[0]?.mail_provider ?? null;
}
