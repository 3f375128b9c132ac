import type { QueueDepth, QueueKey } from '@postrider/queue';
import type { Backlog, DeadLetterCounts, FailingWebhook, MailProviderName, Rights } from '@postrider/store';
import type { Command } from 'commander';
import { Failure } from '../failure.ts';
import type { Io } from '../io.ts';
import { printAnswer, table } from '../print.ts';
import { readStatus } from '../read-status.ts';
import type { Status } from '../read-status.ts';
import { configuration, diagnostics } from '../session.ts';
import { failingObject } from '../webhook-object.ts';

/** `status`: shows faults and the backlog. The exit code is 1 when there is a fault. */
export function addStatus(program: Command, io: Io): void {
  program
    .command('status')
    .description('reachability, migrations, backlog and queues')
    .option('--stopped', 'the system need not run: a relay and a worker may be missing')
    .action(async ({ json, stopped = false }: { json?: true; stopped?: boolean }) => {
      const config = configuration(io);
      const status = await readStatus(config, diagnostics(config, io), stopped);
      printAnswer(io, json, statusObject(status), statusInWords(status));
      if (status.faults.length > 0) throw new Failure(status.faults.join('; '));
    });
}

/** The status as one document. */
export function statusObject(status: Status) {
  return {
    ok: status.faults.length === 0,
    postgres: { reachable: status.postgres },
    /** null: without REDIS_URL the queues are in Postgres. */
    redis: status.backend === 'redis' ? { reachable: status.depths !== null } : null,
    migrations: status.pending === null ? null : { pending: status.pending },
    queue: { backend: status.backend, depth: status.depths },
    backlog: status.backlog === null ? null : backlogObject(status.backlog, status.deadLetters),
    failing: status.failing?.map(failingObject) ?? null,
    mail_provider: status.mailProvider,
    database_role: status.rights === null ? null : rightsObject(status.rights),
    faults: status.faults,
  };
}

/** The rights of this command's database role. The processes may have another role. */
function rightsObject(rights: Rights) {
  return { name: rights.role, access: accessOf(rights), lacks: rights.lacks };
}

/**
 * `all`: the role has every right that a process needs. `read`: it reads all tables and writes none. `some`:
 * it lacks rights in another way.
 */
function accessOf({ lacks, readsOnly }: Rights): 'all' | 'read' | 'some' {
  if (lacks.length === 0) return 'all';
  return readsOnly ? 'read' : 'some';
}

function backlogObject(backlog: Backlog, deadLetters: DeadLetterCounts | null) {
  return {
    outstanding: backlog.outstanding,
    due_now: backlog.dueNow,
    oldest_due_seconds: backlog.oldestDueSeconds,
    oldest_first_attempt_seconds: backlog.oldestFirstAttemptSeconds,
    unsent_emails: backlog.unsentEmails,
    dead_letters: deadLetters,
    failing_webhooks: backlog.failingWebhooks,
  };
}

/** The status for a person. */
export function statusInWords(status: Status): string[] {
  const redis = status.depths === null ? 'not reachable' : 'reachable';
  const rows = [
    ['Postgres', status.postgres ? 'reachable' : 'not reachable'],
    ['Redis', status.backend === 'redis' ? redis : 'not used'],
    ['migrations', migrationsInWords(status.pending)],
    ...(status.mailProvider === null ? [] : [['mail provider', providerInWords(status.mailProvider)]]),
    ...(status.rights === null ? [] : [['database role', roleInWords(status.rights)]]),
    ...backlogRows(status.backlog, status.deadLetters),
    ...(status.failing ?? []).map((webhook) => ['failing webhook', failingInWords(webhook)]),
    ...depthRows(status.depths),
  ];
  return table(['WHAT', 'STATE'], rows);
}

function providerInWords(provider: MailProviderName): string {
  return provider === 'sandbox' ? 'sandbox: mail goes to a folder, and none is sent' : provider;
}

function roleInWords(rights: Rights): string {
  const access = {
    all: 'has the rights of a process',
    read: 'only reads',
    some: 'lacks rights of a process',
  };
  return `${rights.role}: ${access[accessOf(rights)]}`;
}

function migrationsInWords(pending: readonly string[] | null): string {
  if (pending === null) return 'unknown';
  return pending.length === 0 ? 'current' : `${pending.length} missing`;
}

function backlogRows(backlog: Backlog | null, deadLetters: DeadLetterCounts | null): string[][] {
  const letters = ['dead letters', deadLettersInWords(deadLetters)];
  if (backlog === null) return deadLetters === null ? [] : [letters];
  return [
    ['deliveries outstanding', `${backlog.outstanding}, due now ${backlog.dueNow}`],
    ['oldest without a lease', `due for ${backlog.oldestDueSeconds.toFixed(1)} s`],
    ['oldest without an attempt', `due for ${backlog.oldestFirstAttemptSeconds.toFixed(1)} s`],
    ['mail not sent yet', String(backlog.unsentEmails)],
    letters,
    ['failing webhooks', String(backlog.failingWebhooks)],
  ];
}

function deadLettersInWords(counts: DeadLetterCounts | null): string {
  if (counts === null) return 'unknown';
  return `${counts.attempts_exhausted} attempts_exhausted, ${counts.rejected} rejected`;
}

function failingInWords(webhook: FailingWebhook): string {
  const { webhook: id, account, host, failing_since: since } = failingObject(webhook);
  return `${id} of ${account}, ${host}, since ${since}`;
}

function depthRows(depths: Readonly<Record<QueueKey, QueueDepth>> | null): string[][] {
  const rows = Object.entries(depths ?? {});
  return rows.map(([key, depth]) => [`queue ${key}`, `${depth.waiting} waiting, ${depth.delayed} delayed`]);
}
