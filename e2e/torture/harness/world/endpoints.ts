import type { AccountId } from '@postrider/domain';
import type { WebhookStore } from '@postrider/store';
import { answer, newWebhook, startFaultProxy, waitFor } from '@postrider/testing';
import type { FaultProxy, ScriptedReceiver } from '@postrider/testing';
import type { Receipt, WebhookEntry } from '../checker/history.ts';
import { nowMs } from '../times.ts';
import type { Endpoint, EndpointWish } from './endpoint.ts';
import { logging } from './receipt-log.ts';

/** The webhooks of one experiment, and the receivers' log. */
export interface Endpoints {
  readonly receipts: readonly Receipt[];
  readonly webhooks: readonly WebhookEntry[];
  readonly proxies: readonly FaultProxy[];
  create(wish: EndpointWish): Promise<Endpoint>;
  removing(endpoint: Endpoint, act: () => Promise<unknown>): Promise<void>;
}

const ARRIVED_WITHIN_MS = 60_000;

export function createEndpoints(parts: {
  readonly hosts: readonly ScriptedReceiver[];
  readonly webhooks: Pick<WebhookStore, 'create'>;
  readonly accountId: string;
  readonly signatureOffMs: number;
}): Endpoints {
  const receipts: Receipt[] = [];
  const webhooks: WebhookEntry[] = [];
  const proxies: FaultProxy[] = [];
  let created = 0;

  return {
    receipts,
    webhooks,
    proxies,
    async create({
      reaction = answer(200),
      types = [],
      accountId = parts.accountId,
      url,
      proxied = false,
      mayGiveUp = false,
    }) {
      created += 1;
      const path = `/hook/${created}`;
      const host = parts.hosts[created % parts.hosts.length];
      if (host === undefined) throw new Error('there is no receiver');
      const proxy = proxied ? await proxyBefore(host) : null;
      if (proxy !== null) proxies.push(proxy);
      const endpoint = url ?? proxy?.url(host.url(path)) ?? host.url(path);
      const { webhook, signingSecret } = await newWebhook(parts.webhooks, {
        accountId: accountId as AccountId,
        endpoint,
        events: types,
      });
      webhooks.push({
        webhookId: webhook.id,
        accountId,
        types,
        createdAtMs: nowMs(),
        foreign: url !== undefined,
        mayGiveUp,
        removed: null,
      });
      const recipient = { webhookId: webhook.id, signingSecret, signatureOffMs: parts.signatureOffMs };
      const own: Receipt[] = [];
      const log = (receipt: Receipt): void => {
        receipts.push(receipt);
        own.push(receipt);
      };
      const made: Endpoint = {
        webhookId: webhook.id,
        accountId,
        url: endpoint,
        proxy,
        receipts: own,
        reacts: (next) => host.always(path, logging(recipient, next, log)),
        async connected() {
          await waitFor(() => (proxy?.accepted ?? 0) > 0, {
            what: `a connection to ${endpoint}`,
            intervalMs: 2,
          });
        },
        async arrived(count, withinMs = ARRIVED_WITHIN_MS) {
          await waitFor(() => own.length >= count, {
            what: `${count} requests to ${endpoint}`,
            timeoutMs: withinMs,
            intervalMs: 2,
          });
        },
      };
      made.reacts(reaction);
      return made;
    },
    async removing({ webhookId }, act) {
      const entry = webhooks.find((webhook) => webhook.webhookId === webhookId);
      if (entry === undefined) throw new Error(`${webhookId} is no webhook of this world`);
      const beganAtMs = nowMs();
      await act();
      entry.removed = { beganAtMs, endedAtMs: nowMs() };
    },
  };
}

/** Listens on the receiver's own address, so that its certificate is valid. */
async function proxyBefore(host: ScriptedReceiver): Promise<FaultProxy> {
  const { hostname } = new URL(host.url('/'));
  return startFaultProxy(() => ({ host: hostname, port: host.port }), hostname);
}
