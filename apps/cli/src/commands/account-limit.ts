import { createAccountStore } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';
import { wholeNumber } from '../whole-number.ts';

interface Options extends ActorOptions {
  /** `default`: the limit of the installation. */
  readonly webhooks?: number | 'default';
  readonly domains?: number | 'default';
  readonly unverifiedDomains?: number | 'default';
  readonly json?: true;
}

/**
 * The highest limit. The setting WEBHOOKS_PER_ACCOUNT_MAX has the same maximum: the API lists webhooks
 * without pages, and recording an event reads all webhooks of its account.
 */
const LIMIT_MAX = 10_000;

/**
 * `account limit`: sets an account's limits, which replace the installation's. Without an option it shows
 * them.
 */
export function addAccountLimit(account: Command, io: Io): void {
  withActor(account.command('limit'))
    .description('set or show what an account may have at the most')
    .argument('<id>', "the account's id, acct_…")
    .option('--webhooks <number>', 'webhooks; `default` is WEBHOOKS_PER_ACCOUNT_MAX of the API', parseLimit)
    .option(
      '--domains <number>',
      'sending domains; `default` is DOMAINS_PER_ACCOUNT_MAX of the API',
      parseLimit,
    )
    .option(
      '--unverified-domains <number>',
      'sending domains that are not verified; `default` is UNVERIFIED_DOMAINS_PER_ACCOUNT_MAX of the API',
      parseLimit,
    )
    .action(async (text: string, options: Options) => {
      const { webhooks, domains, unverifiedDomains, json } = options;
      const id = requireId('account', text);
      await withDatabase(io, async ({ database }) => {
        const changes = {
          ...(webhooks === undefined ? {} : { webhooks: ownLimit(webhooks) }),
          ...(domains === undefined ? {} : { domains: ownLimit(domains) }),
          ...(unverifiedDomains === undefined ? {} : { unverifiedDomains: ownLimit(unverifiedDomains) }),
        };
        const limits = await createAccountStore(database, io.clock).limit(id, changes, actorOf(io, options));
        if (limits === null) throw new Failure(`no account ${id}`);
        const document = {
          id,
          webhooks: limits.webhooks,
          domains: limits.domains,
          unverified_domains: limits.unverifiedDomains,
        };
        printAnswer(io, json, document, [
          `webhooks: ${limits.webhooks ?? 'WEBHOOKS_PER_ACCOUNT_MAX of the API'}`,
          `domains: ${limits.domains ?? 'DOMAINS_PER_ACCOUNT_MAX of the API'}`,
          `unverified domains: ${limits.unverifiedDomains ?? 'UNVERIFIED_DOMAINS_PER_ACCOUNT_MAX of the API'}`,
        ]);
      });
    });
}

function ownLimit(given: number | 'default'): number | null {
  return given === 'default' ? null : given;
}

function parseLimit(text: string): number | 'default' {
  return text === 'default'
    ? text
    : wholeNumber(text, { min: 0, max: LIMIT_MAX, what: 'limit', or: 'default' });
}
