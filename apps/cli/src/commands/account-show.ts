import { createAccountStore } from '@postrider/store';
import type { AccountDetails } from '@postrider/store';
import type { Command } from 'commander';
import { accountObject } from '../account-object.ts';
import { Failure } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

/** `account show`: shows an account, its own limits, and how much it has. */
export function addAccountShow(account: Command, io: Io): void {
  account
    .command('show')
    .description(
      'an account: its name, its own limits, and how many keys, webhooks, domains and inboxes it has',
    )
    .argument('<id>', "the account's id, acct_…")
    .action(async (text: string, { json }: { json?: true }) => {
      const id = requireId('account', text);
      await withDatabase(io, async ({ database }) => {
        const details = await createAccountStore(database, io.clock).describe(id);
        if (details === null) throw new Failure(`no account ${id}`);
        printAnswer(io, json, detailsObject(details), linesOf(details));
      });
    });
}

function detailsObject(details: AccountDetails) {
  const { noticeEmail, limits, keys, webhooks, domains, inboxes } = details;
  return {
    ...accountObject(details),
    suspended_at: details.suspendedAt?.toISOString() ?? null,
    notice_email: noticeEmail,
    /** null: the limit of the installation. */
    limits: {
      webhooks: limits.webhooks,
      domains: limits.domains,
      unverified_domains: limits.unverifiedDomains,
    },
    keys,
    webhooks,
    domains,
    inboxes,
  };
}

function linesOf(details: AccountDetails): string[] {
  const { id, name, createdAt, suspendedAt, noticeEmail, limits, ...counts } = details;
  return [
    `${id}: ${name}`,
    `made: ${createdAt.toISOString()}`,
    ...(suspendedAt === null ? [] : [`suspended: ${suspendedAt.toISOString()}`]),
    `notices go to: ${noticeEmail ?? 'nobody'}`,
    `keys: ${counts.keys} (not revoked)`,
    `webhooks: ${counts.webhooks} of ${limits.webhooks ?? 'WEBHOOKS_PER_ACCOUNT_MAX'}`,
    `domains: ${counts.domains} of ${limits.domains ?? 'DOMAINS_PER_ACCOUNT_MAX'}`,
    `unverified domains: at most ${limits.unverifiedDomains ?? 'UNVERIFIED_DOMAINS_PER_ACCOUNT_MAX'}`,
    `inboxes: ${counts.inboxes}`,
  ];
}
