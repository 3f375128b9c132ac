import { mappingUnavailable, pendingMigrations } from '@postrider/store';
import type { Queryable } from '@postrider/store';

/**
 * A process must not serve from a database whose tables are not those it was written for.
 *
 * @throws Error that tells the operator what to do, or StoreUnavailableError.
 */
export async function requireMigrations(db: Queryable): Promise<void> {
  const pending = await mappingUnavailable(() => pendingMigrations(db));
  if (pending.length === 0) return;
  throw new Error(`the database lacks the migrations ${pending.join(', ')}: run \`npm run migrate\` first`);
}
