import { migrateQueueSchema, QUEUE_SCHEMA, queueSchemaIsCurrent } from '@postrider/queue';
import { makeRoles, migrate } from '@postrider/store';
import type { Roles } from '@postrider/store';
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { note, printAnswer } from '../print.ts';
import { configuration } from '../session.ts';

const ROLES_PREFIX_DEFAULT = 'postrider';
/** A name that needs no quotes in a URL or in SQL. Postgres cuts names at 63 characters. */
const ROLES_PREFIX = /^[a-z_][a-z0-9_]{0,49}$/;

interface MigrateOptions {
  readonly json?: true;
  /** The prefix of the roles' names. */
  readonly roles?: string;
}

/**
 * `migrate`: migrates the tables of the store and of the queue. It makes the queue's tables even with Redis,
 * so that a deployment can drop Redis without another step. It is safe at any time, even in parallel.
 */
export function addMigrate(program: Command, io: Io): void {
  program
    .command('migrate')
    .description('bring the database up to date')
    .addOption(
      new Option(
        '--roles [prefix]',
        'make the database roles PREFIX_owner, PREFIX_readwrite and PREFIX_readonly, and give them their rights',
      )
        .preset(ROLES_PREFIX_DEFAULT)
        .argParser(rolesPrefix),
    )
    .action(async ({ json, roles: prefix }: MigrateOptions) => {
      const { databaseUrl } = configuration(io);
      const say = (line: string) => note(io, `postrider: ${line}`);
      // Prints each name at once: a later migration may take long, or fail.
      const onApplied = (name: string) => {
        if (json !== true) io.stdout.write(`applied ${name}\n`);
      };
      const applied = await migrate(databaseUrl, { say, onApplied });
      const queueMigrated = !(await queueSchemaIsCurrent(databaseUrl));
      if (queueMigrated) await migrateQueueSchema(databaseUrl, { say });
      const roles =
        prefix === undefined
          ? undefined
          : await makeRoles(databaseUrl, { prefix, schemas: ['public', QUEUE_SCHEMA], say });
      const named = roles && { owner: roles.owner, readwrite: roles.readWrite, readonly: roles.readOnly };
      const answer = { applied, queue_migrated: queueMigrated, roles: named };
      printAnswer(io, json, answer, inWords(applied.length > 0, queueMigrated, roles));
    });
}

function rolesPrefix(value: string): string {
  if (ROLES_PREFIX.test(value)) return value;
  throw new InvalidArgumentError('It has lower-case letters, digits and _, and at most 50 characters.');
}

/** The lines after the names of the applied migrations, which are already printed. */
function inWords(applied: boolean, queueMigrated: boolean, roles: Roles | undefined): string[] {
  const lines: string[] = [];
  if (queueMigrated) lines.push("applied the queue's tables");
  else if (!applied) lines.push('the database is up to date');
  if (roles !== undefined) {
    lines.push(`the roles ${roles.owner}, ${roles.readWrite} and ${roles.readOnly} have their rights`);
  }
  return lines;
}
