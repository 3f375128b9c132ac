import { databaseUrl, withClient } from '../../packages/testing/src/admin.ts';

/**
 * Makes the database that every test database is a clone of, with all migrations applied. It allows no
 * connection, because Postgres copies only a database that is not in use.
 */
export async function createTemplate(adminUrl: string, name: string): Promise<void> {
  await withClient(adminUrl, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`));
  const url = databaseUrl(adminUrl, name);
  // A schema with the user's name: the tables of a migration go there, unless its session sets a search path.
  await withClient(url, (client) => client.query('CREATE SCHEMA AUTHORIZATION current_user'));
  // Loaded here and not above: only this step needs the store and the queue.
  const [{ migrate }, { migrateQueueSchema }] = await Promise.all([
    import('../../packages/store/src/index.ts'),
    import('../../packages/queue/src/index.ts'),
  ]);
  await migrate(url);
  await migrateQueueSchema(url);
  await withClient(adminUrl, (client) => client.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`));
}

export async function dropTemplate(adminUrl: string, name: string): Promise<void> {
  await withClient(adminUrl, (client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
}
