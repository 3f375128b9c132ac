import { hostOf } from '@postrider/domain';
import type { FailingWebhook, OwnedWebhook } from '@postrider/store';

/** A webhook in the output of `--json`, without its secret. Times are ISO 8601 UTC. */
export function webhookObject(webhook: OwnedWebhook) {
  return {
    id: webhook.id,
    account: webhook.accountId,
    endpoint: webhook.endpoint,
    /** Empty: every type. */
    events: webhook.events,
    description: webhook.description,
    /** null: every domain. */
    domains: webhook.domains,
    /** The routing rule that it belongs to. null: the account's own endpoint. */
    rule_id: webhook.ruleId,
    /** null: it does not count as failing. */
    failing_since: webhook.failingSince?.toISOString() ?? null,
    created_at: webhook.createdAt.toISOString(),
  };
}

/** Names an endpoint. Its path may hold a customer's token. */
export function endpointObject({
  webhookId,
  accountId,
  endpoint,
}: Pick<FailingWebhook, 'webhookId' | 'accountId' | 'endpoint'>) {
  return { webhook: webhookId, account: accountId, host: hostOf(endpoint) };
}

/** A failing webhook in the output of `--json`. */
export function failingObject(webhook: FailingWebhook) {
  return { ...endpointObject(webhook), failing_since: webhook.failingSince.toISOString() };
}
