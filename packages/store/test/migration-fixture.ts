import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminDatabaseUrl, cloneDatabase, databaseUrl, openClient, withClient } from '@postrider/testing';
import type { Client } from 'pg';

/** A database, and a folder of migrations of the test's own. */
export interface MigrationFixture {
  readonly name: string;
  readonly url: string;
  readonly directory: string;
  /** On a connection that stays open. */
  readonly client: Client;
  /** Another connection; `close` ends it. */
  connect(): Promise<Client>;
  write(name: string, sql: string): void;
  close(): Promise<void>;
}

/** @param template the database to copy, which nobody uses; by default, an empty one. */
export async function openMigrationFixture(template = 'template0'): Promise<MigrationFixture> {
  const name = `migrate_${randomBytes(6).toString('hex')}`;
  await cloneDatabase(adminDatabaseUrl(), name, template);
  const url = databaseUrl(adminDatabaseUrl(), name);
  const directory = mkdtempSync(join(tmpdir(), 'postrider-migrations-'));
  const clients: Client[] = [];
  const connect = async (): Promise<Client> => {
    const client = await openClient(url);
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  return {
    name,
    url,
    directory,
    connect,
    client: await connect(),
    write(migration, sql) {
      mkdirSync(join(directory, migration), { recursive: true });
      writeFileSync(join(directory, migration, 'migration.sql'), sql);
    },
    async close() {
      await Promise.all(clients.map((client) => client.end()));
      await withClient(adminDatabaseUrl(), (admin) => admin.query(`drop database ${name} with (force)`));
      rmSync(directory, { recursive: true });
    },
  };
}
