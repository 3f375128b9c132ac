import { hostOf } from '@postrider/domain';
import type { FailingWebhook, OwnedWebhook, WebhookHealth } from '@postrider/store';

/** A webhook in the output of `--json`: the whole endpoint, but no secret. Times are ISO 8601 UTC. */
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
    /** The routing rule that the webhook belongs to. null: it belongs to the account. */
    rule_id: webhook.ruleId,
    /** null: the webhook does not count as failing. */
    failing_since: webhook.failingSince?.toISOString() ?? null,
    /** Dead letters that retention deleted. */
    dead_letters_dropped: webhook.deadLettersDropped,
    created_at: webhook.createdAt.toISOString(),
  };
}

/** The health of a webhook in the output of `--json`. */
export function webhookHealthObject(health: WebhookHealth) {
  return {
    /** null: no success is known. */
    last_success_at: health.lastSuccessAt?.toISOString() ?? null,
    /** null: no error is known. */
    last_error: health.lastError,
    /** Deliveries that have not ended. They and the dead letters are each counted up to 10,000. */
    outstanding: health.outstanding,
    dead_letters: health.deadLetters,
  };
}

/** `status` and `top` name an endpoint by its host alone: its path may hold a customer's token. */
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
