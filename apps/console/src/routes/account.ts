import {
  createAccountStore,
  createApiKeyStore,
  createDomainStore,
  createWebhookLookUps,
  readWebhookLoads,
} from '@postrider/store';
import type { Database } from '@postrider/store';
import type { Clock } from '@postrider/domain';
import type { PageHandler } from '../http/serve-page.ts';
import { accountPage } from '../pages/account.ts';
import type { AccountSettings } from '../pages/account.ts';
import { idOf, noSuch } from './ids.ts';

/** An account may have more: the page says so. */
const SHOWN_MAX = 100;

/** `/accounts/:id` */
export function showAccount(db: Database, clock: Clock, settings: AccountSettings): PageHandler {
  const accounts = createAccountStore(db, clock);
  const keys = createApiKeyStore(db, clock);
  const domains = createDomainStore(db, clock);
  const webhooks = createWebhookLookUps(db);
  const first = { limit: SHOWN_MAX, cursor: null };

  return async (visit) => {
    const id = idOf('account', 'account', visit);
    const account = await accounts.describe(id);
    if (account === null) throw noSuch('account', id, visit.now);
    const owned = (await webhooks.list(id, first))?.entries ?? [];
    const loads = await readWebhookLoads(
      db,
      owned.map((webhook) => webhook.id),
    );
    const domainList = (await domains.list(id, first))?.entries ?? [];
    const keyList = await keys.list(id);
    return accountPage(
      { account, webhooks: owned, loads, domains: domainList, keys: keyList.slice(0, SHOWN_MAX) },
      settings,
      visit,
    );
  };
}
