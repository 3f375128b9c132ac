import {
  countedMaxPerWebhook,
  countHeldOf,
  createAccountStore,
  createApiKeyStore,
  createDomainStore,
  createWebhookLookUps,
  listAudit,
  readAttemptDays,
  readLastMinuteOf,
  readWebhookHealth,
} from '@postrider/store';
import type { Database } from '@postrider/store';
import type { Clock } from '@postrider/domain';
import { readFields } from '../http/fields.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { accountPage } from '../pages/account.ts';
import type { Settings } from '../settings.ts';
import { idOf, noSuch } from './ids.ts';

/** Webhooks, and domains, that the page shows at most. The page also says how many there are. */
const SHOWN_MAX = 100;
/** The newest entries of the audit. The page of the audit has all. */
const ACTIONS_SHOWN = 5;

/** `/accounts/:id` */
export function showAccount(db: Database, clock: Clock, settings: Settings): PageHandler {
  const accounts = createAccountStore(db, clock);
  const keys = createApiKeyStore(db, clock);
  const domains = createDomainStore(db, clock);
  const webhooks = createWebhookLookUps(db);
  const first = { limit: SHOWN_MAX, cursor: null };

  return async (visit) => {
    const id = idOf('account', visit);
    readFields({}, visit.query);
    const account = await accounts.describe(id);
    if (account === null) throw noSuch('account', id, visit.now);
    const owned = (await webhooks.list(id, first))?.entries ?? [];
    const ids = owned.map((webhook) => webhook.id);
    const countedMax = countedMaxPerWebhook(ids.length);
    const domainList = (await domains.list(id, first))?.entries ?? [];
    const parts = {
      account,
      webhooks: owned,
      health: await readWebhookHealth(db, ids, countedMax),
      countedMax,
      days: await readAttemptDays(db.pool, ids, visit.now),
      attemptsLastMinute: await readLastMinuteOf(db.pool, id),
      heldMessages: await countHeldOf(db, id),
      domains: domainList,
      keys: await keys.list(id),
      actions: (await listAudit(db, { accountId: id }, { limit: ACTIONS_SHOWN }))?.entries ?? [],
    };
    return accountPage(parts, settings, visit);
  };
}
