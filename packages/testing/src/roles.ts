import { randomBytes } from 'node:crypto';
import { administer } from './admin.ts';
import { adminDatabaseUrl } from './database.ts';

/** Database roles of one test. A role exists in the whole server, so each test has names of its own. */
export interface TestRoles {
  /** All names begin with it. */
  readonly prefix: string;
  /**
   * Makes a role that can log in.
   * @param attributes such as `createrole`, or `in role NAME`
   * @returns its name
   */
  login(attributes?: string): Promise<string>;
  /** The address of a database for a role that `login` made. */
  url(databaseUrl: string, login: string): string;
  /** Drops every role with the prefix. The databases in which they have rights must be gone. */
  drop(): Promise<void>;
}

export function createTestRoles(): TestRoles {
  const prefix = `test_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  let logins = 0;
  return {
    prefix,
    async login(attributes = '') {
      const name = `${prefix}_login${(logins += 1)}`;
      await administer(adminDatabaseUrl(), `create role ${name} login password '${password}' ${attributes}`);
      return name;
    },
    url(databaseUrl, login) {
      const url = new URL(databaseUrl);
      [url.username, url.password] = [login, password];
      return url.href;
    },
    async drop() {
      const roles = await administer<{ name: string }>(
        adminDatabaseUrl(),
        `select rolname as name from pg_roles where starts_with(rolname, $1)`,
        [prefix],
      );
      if (roles.length === 0) return;
      await administer(adminDatabaseUrl(), `drop role ${roles.map(({ name }) => name).join(', ')}`);
    },
  };
}
