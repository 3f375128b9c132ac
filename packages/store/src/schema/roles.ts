import { escapeIdentifier } from 'pg';
import type { Client } from 'pg';
import { inTries } from './lock-tries.ts';
import { MIGRATE_LIMITS } from './migration-limits.ts';
import type { Say } from './migration-limits.ts';
import { underMigrationLock } from './migration-lock.ts';
import { actAs, isAllowed } from './owner.ts';
import { lacksRights, LEDGERS, rightsOf } from './rights.ts';

/** The names of the three roles. They need no quotes. */
export interface Roles {
  /** Owns the tables, and may change them. */
  readonly owner: string;
  /** For the processes. */
  readonly readWrite: string;
  /** For people and reports. */
  readonly readOnly: string;
}

export interface RolesOptions {
  /** The names begin with it: lower-case letters, digits and `_`. Unique per installation on a server. */
  readonly prefix: string;
  /** The schemas with Postrider's tables. */
  readonly schemas: readonly string[];
  /** Receives what the operator must know. */
  readonly say?: Say;
}

/**
 * Makes the three roles, which cannot log in, and gives them their rights. Moves the tables to the owner, one
 * by one and without blocking writers for long. A second run changes nothing.
 *
 * @throws Error when the role of the session lacks a right for this, or a role would have too many rights.
 * @throws MigrationLockError when a lock was not available in any try.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function makeRoles(databaseUrl: string, options: RolesOptions): Promise<Roles> {
  const { prefix, schemas, say = () => undefined } = options;
  const roles = {
    owner: `${prefix}_owner`,
    readWrite: `${prefix}_readwrite`,
    readOnly: `${prefix}_readonly`,
  };
  return underMigrationLock(databaseUrl, { say }, async (client) => {
    await createRoles(client, roles);
    await grantDatabase(client, roles, schemas);
    await moveTables(client, roles, schemas, say);
    await grantTables(client, roles, schemas);
    await checkRights(client, roles, schemas, say);
    return roles;
  });
}

async function createRoles(client: Client, roles: Roles): Promise<void> {
  const names = [roles.owner, roles.readWrite, roles.readOnly];
  const { rows: existing } = await client.query<{ name: string }>(
    'select rolname as name from pg_roles where rolname = any ($1)',
    [names],
  );
  for (const name of names) {
    if (!existing.some((role) => role.name === name)) await client.query(`create role ${name} nologin`);
  }
  // Since Postgres 16, a role's creator is no member.
  if (await actAs(client, roles.owner)) await client.query('reset role');
  else await client.query(`grant ${roles.owner} to current_user`);
}

/**
 * Grants the rights that the owner of the tables cannot give. The session's role may not give them all
 * either: `checkRights` throws when one is missing at the end.
 */
async function grantDatabase(client: Client, roles: Roles, schemas: readonly string[]): Promise<void> {
  const { owner, readWrite, readOnly } = roles;
  const { rows } = await client.query<{ name: string }>('select quote_ident(current_database()) as name');
  const database = `database ${rows[0]?.name ?? ''}`;
  const statements = [
    // BullMQ's migrations ask for `create`, although their schema exists. Its bulk add uses temporary tables.
    `grant connect, create on ${database} to ${owner}`,
    `grant connect, temporary on ${database} to ${readWrite}`,
    `grant connect on ${database} to ${readOnly}`,
    // Until Postgres 14, every role could create tables here.
    'revoke create on schema public from public',
    `grant usage, create on schema public to ${owner}`,
    `grant usage on schema public to ${readWrite}, ${readOnly}`,
    // Without this role, Postgres hides the transactions of other roles.
    `grant pg_read_all_stats to ${owner}`,
    ...schemas.filter((name) => name !== 'public').map((name) => `alter schema ${name} owner to ${owner}`),
  ];
  for (const statement of statements) await isAllowed(client, statement);
}

/** What the schemas hold, except for extensions. A sequence of a column follows its table to the owner. */
const OBJECTS = `
  extended as (select classid, objid from pg_depend where deptype = 'e'),
  objects (kind, schema, name, owner, parent, follows) as (
    select case relkind when 'S' then 'sequence' else 'table' end, nspname, c.oid::regclass::text, relowner, inhparent,
           relkind = 'S' and exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid
                                       and deptype in ('a', 'i'))
    from pg_class c join pg_namespace n on n.oid = relnamespace left join pg_inherits on inhrelid = c.oid
    where nspname = any ($2) and relkind in ('r', 'p', 'S')
      and ('pg_class'::regclass, c.oid) not in (select classid, objid from extended)
    union all
    select 'function', nspname, f.oid::regprocedure::text, proowner, null, false
    from pg_proc f join pg_namespace n on n.oid = pronamespace
    where nspname = any ($2) and ('pg_proc'::regclass, f.oid) not in (select classid, objid from extended)
    union all
    select 'type', nspname, t.oid::regtype::text, typowner, null, false
    from pg_type t join pg_namespace n on n.oid = typnamespace
    where nspname = any ($2) and typtype = 'e'
      and ('pg_type'::regclass, t.oid) not in (select classid, objid from extended)
  )`;

/**
 * In the schema `public`: objects of the role that migrated, and of the role of this session, and all
 * partitions of the attempt log. In the other schemas: all objects.
 */
const TO_MOVE = `
  with former as (
    select oid from pg_roles where rolname = session_user
    union select relowner from pg_class where oid = 'public._prisma_migrations'::regclass
  ),
  ${OBJECTS}
  select format('alter %s %s owner to %I', kind, name, $1::text) as statement, rolname as owner, rolsuper as "isSuper"
  from objects join pg_roles on oid = owner
  where rolname <> $1 and not follows
    and (schema <> 'public' or owner in (select oid from former) or parent = 'public.attempts'::regclass)
  order by kind, name`;

/** The processes of a former owner keep their rights, until they use another login. */
async function moveTables(client: Client, roles: Roles, schemas: readonly string[], say: Say): Promise<void> {
  const { rows } = await client.query<{ statement: string; owner: string; isSuper: boolean }>(TO_MOVE, [
    roles.owner,
    schemas,
  ]);
  const former = new Set(rows.filter(({ isSuper }) => !isSuper).map(({ owner }) => owner));
  for (const name of former) {
    await client.query(`grant ${roles.owner} to ${escapeIdentifier(name)}`);
    say(`${name} owned the tables, and is now a member of ${roles.owner}`);
  }
  const { tableLockMs, tries, pauseMs } = MIGRATE_LIMITS.busyTable;
  for (const { statement } of rows) {
    const limits = { lockMs: tableLockMs, tries, pauseMs, boundsStatements: true };
    await inTries(client, { ...limits, say: (line) => say(`${statement} ${line}`) }, async () => {
      await client.query(statement);
    });
  }
}

/** Grants the rights on tables, sequences and functions, also on those that later migrations make. */
async function grantTables(client: Client, roles: Roles, schemas: readonly string[]): Promise<void> {
  const { owner, readWrite, readOnly } = roles;
  if (!(await actAs(client, owner))) throw new Error(`this role may not act as ${owner}`);
  const { rows } = await client.query<{ kind: string; names: string[] }>(
    `with ${OBJECTS} select kind, array_agg(name) as names from objects
     where owner = $1::regrole group by kind
     union all
     select 'definer', array_agg(oid::regprocedure::text) from pg_proc
     where pronamespace::regnamespace::text = any ($2) and prosecdef and proowner = $1::regrole having count(*) > 0`,
    [owner, schemas],
  );
  const names = (kind: string) => rows.find((row) => row.kind === kind)?.names ?? [];
  const ledgers = names('table').filter((name) => LEDGERS.includes(name.split('.').at(-1) ?? ''));
  const all = schemas.join(', ');
  const onAll = (privileges: string, kind: string, grantees: string) => [
    ...(names(kind).length > 0
      ? [`grant ${privileges} on ${kind} ${names(kind).join(', ')} to ${grantees}`]
      : []),
    `alter default privileges in schema ${all} grant ${privileges} on ${kind}s to ${grantees}`,
  ];
  const statements = [
    `grant usage on schema ${all} to ${readWrite}, ${readOnly}`,
    ...onAll('select', 'table', `${readWrite}, ${readOnly}`),
    ...onAll('insert, update, delete', 'table', readWrite),
    `revoke insert, update, delete on ${ledgers.join(', ')} from ${readWrite}`,
    ...onAll('select', 'sequence', `${readWrite}, ${readOnly}`),
    ...onAll('usage', 'sequence', readWrite),
    ...onAll('execute', 'function', readWrite),
    // These run with the owner's rights. After a restore without privileges, every role may execute them.
    ...names('definer').map((name) => `revoke execute on function ${name} from public`),
  ];
  await client.query(`begin; ${statements.join('; ')}; commit`);
  await client.query('reset role');
}

/** @throws Error for a role that lacks a right, or has too many: it may have existed before. */
async function checkRights(
  client: Client,
  roles: Roles,
  schemas: readonly string[],
  say: Say,
): Promise<void> {
  const { rows: strong } = await client.query<{ role: string }>(
    `select rolname as role from pg_roles
     where rolname = any ($1) and (rolsuper or pg_has_role(rolname, $2, 'member')) order by 1`,
    [[roles.readWrite, roles.readOnly], roles.owner],
  );
  if (strong[0] !== undefined) {
    throw new Error(`${strong[0].role} may change tables: it is a superuser or a member of ${roles.owner}`);
  }
  const { rows: owners } = await client.query<{ makes: boolean; sees: boolean }>(
    `select has_database_privilege($1, current_database(), 'create') and has_schema_privilege($1, 'public', 'create')
              as makes,
            pg_has_role($1, 'pg_read_all_stats', 'usage') as sees`,
    [roles.owner],
  );
  if (owners[0]?.makes !== true) {
    throw new Error(
      `${roles.owner} may not make tables: run this as the owner of the database or a superuser`,
    );
  }
  if (!owners[0].sees)
    say(`${roles.owner} does not see the transactions of other roles: grant it pg_read_all_stats`);
  const readWrite = await rightsOf(client, { role: roles.readWrite, schemas });
  if (readWrite.lacks.length > 0) throw lacksRights(readWrite);
  const readOnly = await rightsOf(client, { role: roles.readOnly, schemas });
  if (!readOnly.readsOnly) throw new Error(`${roles.readOnly} cannot read every table, or may write one`);
}
