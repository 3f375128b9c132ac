import { createSecretBox } from '@postrider/domain';
import { readOtherKeys, resealSecrets } from '@postrider/store';
import type { OtherKey } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure } from '../failure.ts';
import type { Io } from '../io.ts';
import { note, printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

interface Options extends ActorOptions {
  readonly dryRun?: true;
  readonly json?: true;
}

/** `secrets reseal`: encrypts all stored secrets with the first key of SECRETS_KEY. Old keys can then go. */
export function addSecretsReseal(secrets: Command, io: Io): void {
  withActor(secrets.command('reseal'))
    .description('seal the secrets and headers of all webhooks again, with the first key of SECRETS_KEY')
    .option('--dry-run', 'count the webhooks of each other key, and change nothing')
    .action(async (options: Options) => {
      await withDatabase(io, async ({ config: { resealKeys }, database }) => {
        if (resealKeys === undefined)
          throw new Failure('SECRETS_KEY is not set: the new key, then the old ones');
        const box = createSecretBox(resealKeys);
        const { keyId } = box;
        const onStep = (count: number) => note(io, `postrider: ${count} so far`);
        const isDryRun = options.dryRun === true;
        const resealed = isDryRun ? 0 : await resealSecrets(database, box, actorOf(io, options), onStep);
        const others = await readOtherKeys(database, box);
        const document = { key_id: keyId, dry_run: isDryRun, resealed, others: others.map(otherObject) };
        printAnswer(io, options.json, document, [
          ...(isDryRun ? [] : [`sealed the secrets of ${resealed} webhooks again, with the key ${keyId}`]),
          ...(isDryRun && others.length === 0 ? [`the key ${keyId} has sealed all secrets`] : []),
          ...others.map(otherLine),
        ]);
        if (!isDryRun && others.length > 0) {
          throw new Failure(
            'keep the other keys: SECRETS_KEY does not open these secrets, or an API still seals with another key',
          );
        }
      });
    });
}

function otherObject({ keyId, webhooks, oldestWebhookId }: OtherKey) {
  return { key_id: keyId, webhooks, oldest_webhook: oldestWebhookId };
}

function otherLine({ keyId, webhooks, oldestWebhookId }: OtherKey): string {
  return `${webhooks} webhooks have secrets of the key ${keyId}, such as ${oldestWebhookId}`;
}
