import type { WebhookId } from '@postrider/domain';
import { LOAD_COUNTED_MAX, readWebhookHealth } from '@postrider/store';
import type { Database } from '@postrider/store';
import type { Command } from 'commander';
import { Failure } from '../failure.ts';
import { requireId, requireWebhook } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';
import { webhookHealthObject, webhookObject } from '../webhook-object.ts';

export function addWebhooksShow(webhooks: Command, io: Io): void {
  webhooks
    .command('show')
    .description('a webhook of any account and its health, without its secret')
    .argument('<id>', "the webhook's id, wh_…")
    .action(async (text: string, { json }: { json?: true }) => {
      const id = requireId('webhook', text);
      await withDatabase(io, async ({ database }) => show(io, database, id, json), { indexesOnly: true });
    });
}

async function show(io: Io, database: Database, id: WebhookId, json?: true): Promise<void> {
  const webhook = webhookObject(await requireWebhook(database, id));
  const health = (await readWebhookHealth(database, [id], LOAD_COUNTED_MAX)).get(id);
  if (health === undefined) throw new Failure(`no webhook ${id}`); // deleted since the line above
  const shown = { ...webhook, ...webhookHealthObject(health) };
  printAnswer(io, json, shown, [
    `${id} of ${shown.account}`,
    `endpoint: ${shown.endpoint}`,
    `events: ${shown.events.join(', ') || 'all'}`,
    `description: ${shown.description ?? 'none'}`,
    `domains: ${shown.domains?.join(', ') ?? 'all'}`,
    `routing rule: ${shown.rule_id ?? 'none'}`,
    `failing since: ${shown.failing_since ?? 'it is not failing'}`,
    `last success: ${shown.last_success_at ?? 'none is known'}`,
    `last error: ${shown.last_error ?? 'none is known'}`,
    `outstanding deliveries: ${counted(shown.outstanding)}`,
    `dead letters: ${counted(shown.dead_letters)}`,
    `dead letters that retention deleted: ${shown.dead_letters_dropped}`,
    `made: ${shown.created_at}`,
  ]);
}

function counted(count: number): string {
  return count < LOAD_COUNTED_MAX ? String(count) : `${count} or more`;
}
