import { migrateQueueSchema, queueSchemaIsCurrent } from '@postrider/queue';
import { migrate } from '@postrider/store';
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { jsonOption, note, printAnswer } from '../print.ts';
import { configuration } from '../session.ts';

/**
 * `migrate`: migrates the tables of the store and of the queue. It makes the queue's tables even with Redis,
 * so that a deployment can drop Redis without another step. It is safe at any time, even in parallel.
 */
export function addMigrate(program: Command, io: Io): void {
  program
    .command('migrate')
    .description('bring the database up to date')
    .addOption(jsonOption())
    .action(async ({ json }: { json?: true }) => {
      const config = configuration(io);
      const applied = await migrate(config.databaseUrl, { say: (line) => note(io, `postrider: ${line}`) });
      const queueMigrated = !(await queueSchemaIsCurrent(config.databaseUrl));
      if (queueMigrated) await migrateQueueSchema(config.databaseUrl);
      printAnswer(io, json, { applied, queue_migrated: queueMigrated }, inWords(applied, queueMigrated));
    });
}

function inWords(applied: readonly string[], queueMigrated: boolean): string[] {
  const lines = applied.map((name) => `applied ${name}`);
  if (queueMigrated) lines.push("applied the queue's tables");
  return lines.length > 0 ? lines : ['the database is up to date'];
}
