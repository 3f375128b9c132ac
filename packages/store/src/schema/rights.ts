import { mappingUnavailable } from '../db/errors.ts';
import type { Queryable } from '../db/statement.ts';

/** What a role may do in this database. */
export interface Rights {
  readonly role: string;
  /** The role can read every table, and write none. */
  readonly readsOnly: boolean;
  /** Rights of a process that the role does not have, such as `insert on accounts`. */
  readonly lacks: readonly string[];
}

/** The tables that say which migrations are applied, also BullMQ's. A process only reads them. */
export const LEDGERS: readonly string[] = ['_prisma_migrations', 'migration'];

/**
 * Reads the catalog. Tables of other owners are not Postrider's. No process names the partition of a day, so
 * it needs no right on such partitions. The sequence of an identity column needs no right either. Everyone
 * may execute functions, except those with `security definer`.
 */
const RIGHTS = `
  with ledger as (select relowner as owner from pg_class where oid = 'public._prisma_migrations'::regclass),
  ours as (
    select c.oid, c.relkind, relname as name, relname = any ($2) as "readOnly"
    from pg_class c join pg_namespace n on n.oid = relnamespace
    where nspname = any ($3) and relkind in ('r', 'p', 'S') and (not relispartition or relname !~ '^attempts_[0-9]{8}$')
      and relowner in (select owner from ledger)
  ),
  needed (privilege, object, has) as (
    select privilege, name, has_table_privilege($1, oid, privilege)
    from ours, unnest(array['select', 'insert', 'update', 'delete']) privilege
    where relkind <> 'S' and (not "readOnly" or privilege = 'select')
    union all
    select 'usage', name, has_sequence_privilege($1, oid, 'usage') from ours
    where relkind = 'S' and not exists (select from pg_depend where objid = ours.oid and deptype = 'i')
    union all
    select 'execute', proname, has_function_privilege($1, oid, 'execute') from pg_proc
    where pronamespace = 'public'::regnamespace and prosecdef and proowner in (select owner from ledger)
    union all
    select 'usage', nspname, has_schema_privilege($1, oid, 'usage') from pg_namespace where nspname = any ($3)
  )
  select $1::text as role,
         coalesce(array_agg(privilege || ' on ' || object order by object, privilege) filter (where not has), '{}') as lacks,
         bool_and(has) filter (where privilege = 'select')
           and not bool_or(has) filter (where privilege in ('insert', 'update', 'delete')) as "readsOnly"
  from needed`;

/**
 * @param role default: the role of the session.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function rightsOf(
  db: Queryable,
  { role, schemas = ['public'] }: { readonly role?: string; readonly schemas?: readonly string[] } = {},
): Promise<Rights> {
  return mappingUnavailable(async () => {
    const name = role ?? (await db.query<{ role: string }>('select current_user as role')).rows[0]?.role;
    const { rows } = await db.query<Rights>(RIGHTS, [name, LEDGERS, [...schemas]]);
    const [rights] = rows;
    if (rights === undefined) throw new Error('the rights were not told');
    return rights;
  });
}

/** Rights that the error names. The error only counts further rights. */
const NAMED_MAX = 3;

/** One line about a role that lacks rights of a process. */
export function lacksRights({ role, lacks }: Rights): Error {
  const unnamed = lacks.length - NAMED_MAX;
  const named = lacks.slice(0, NAMED_MAX).join(', ');
  return new Error(
    `the database role ${role} lacks ${named}${unnamed > 0 ? ` and ${unnamed} more rights` : ''}; ` +
      '`postrider migrate --roles` makes a role that has them',
  );
}
