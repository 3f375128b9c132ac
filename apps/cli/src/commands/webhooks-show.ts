import type { Command } from 'commander';
import { requireId, requireWebhook } from '../ids.ts';
import type { Io } from '../io.ts';
import { jsonOption, printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';
import { webhookObject } from '../webhook-object.ts';

/** `webhooks show`: shows a webhook of any account, without its secret. */
export function addWebhooksShow(webhooks: Command, io: Io): void {
  webhooks
    .command('show')
    .description('a webhook of any account, without its secret')
    .argument('<id>', "the webhook's id, wh_…")
    .addOption(jsonOption())
    .action(async (text: string, { json }: { json?: true }) => {
      const id = requireId('webhook', text, 'a webhook');
      await withDatabase(io, async ({ database }) => {
        const shown = webhookObject(await requireWebhook(database, id));
        printAnswer(io, json, shown, [
          `${id} of ${shown.account}`,
          `endpoint: ${shown.endpoint}`,
          `events: ${shown.events.join(', ') || 'all'}`,
          `description: ${shown.description ?? 'none'}`,
          `domains: ${shown.domains?.join(', ') ?? 'all'}`,
          `routing rule: ${shown.rule_id ?? 'none'}`,
          `failing since: ${shown.failing_since ?? 'it is not failing'}`,
          `made: ${shown.created_at}`,
        ]);
      });
    });
}
