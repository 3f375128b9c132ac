import type { Client, QueryResultRow } from 'pg';

interface Table {
  oid: number;
  name: string;
  unlogged: boolean;
  options: string[] | null;
  /** `RANGE (started_at)` of a partitioned table. */
  partitioned: string | null;
  parent: string | null;
  bound: string | null;
}

interface Column {
  name: string;
  type: string;
  required: boolean;
  identity: boolean;
  default: string | null;
}

interface Constraint {
  table: string;
  name: string;
  definition: string;
}

/** Leaves out the table of the migration runner. */
const OWN_TABLES = `c.relnamespace = 'public'::regnamespace and c.relname <> '_prisma_migrations'`;

/**
 * Returns SQL that makes the tables of the schema `public`: types, sequences, columns, defaults, constraints,
 * indexes, partitions and storage parameters. Functions follow, and whether all roles may execute them. Equal
 * schemas have equal texts.
 * @throws for what it cannot describe: views, procedures, aggregates, triggers, domains, ranges, options of
 * sequences, identity by default, generated columns, grants on tables, and row security
 */
export async function describeSchema(client: Client): Promise<string> {
  await refuseUnknown(client);
  const tables = await tablesOf(client);
  const parts = [await enums(client), await sequences(client)];
  for (const table of tables) parts.push(await tableText(client, table));
  parts.push(await foreignKeys(client));
  parts.push(await functions(client));
  return parts.filter((part) => part !== '').join('\n');
}

async function rowsOf<Row extends QueryResultRow>(client: Client, sql: string, oid?: number): Promise<Row[]> {
  return (await client.query<Row>(sql, oid === undefined ? [] : [oid])).rows;
}

async function refuseUnknown(client: Client): Promise<void> {
  const unknown = await rowsOf<{ what: string }>(
    client,
    `select 'relation ' || relname as what from pg_class c where ${OWN_TABLES} and relkind not in ('r', 'p', 'i', 'I', 'S', 't')
     union all select case prokind when 'p' then 'procedure ' else 'aggregate ' end || proname from pg_proc
       where pronamespace = 'public'::regnamespace and prokind <> 'f'
     union all select 'options of sequence ' || relname from pg_sequence join pg_class c on c.oid = seqrelid
       where ${OWN_TABLES} and (
         (seqstart, seqmin, seqincrement, seqcache, seqcycle) <> (1, 1, 1, 1, false)
         or seqmax <> case seqtypid when 'bigint'::regtype then 9223372036854775807
                                    when 'integer'::regtype then 2147483647 else 32767 end
         or not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i')
            and (seqtypid <> 'bigint'::regtype
                 or exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'a')))
     union all select case attidentity when 'd' then 'identity by default of ' else 'generated column ' end
                      || relname || '.' || attname
       from pg_attribute join pg_class c on c.oid = attrelid
       where ${OWN_TABLES} and (attidentity = 'd' or attgenerated <> '') and not attisdropped
     union all select 'type ' || typname from pg_type
       where typnamespace = 'public'::regnamespace and typtype in ('d', 'r')
     union all select 'grants on ' || relname from pg_class c
       where ${OWN_TABLES} and relkind in ('r', 'p')
         and (relacl is not null or exists (select from pg_attribute where attrelid = c.oid and attacl is not null))
     union all select 'row security of ' || relname from pg_class c
       where ${OWN_TABLES}
         and (relrowsecurity or relforcerowsecurity or exists (select from pg_policy where polrelid = c.oid))
     union all select 'trigger ' || tgname from pg_trigger join pg_class c on c.oid = tgrelid
       where ${OWN_TABLES} and not tgisinternal
     order by 1`,
  );
  if (unknown.length > 0) {
    throw new Error(`the schema dump has no words for: ${unknown.map(({ what }) => what).join(', ')}`);
  }
}

async function enums(client: Client): Promise<string> {
  const types = await rowsOf<{ name: string; labels: string }>(
    client,
    `select t.typname as name, string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder) as labels
     from pg_type t join pg_enum e on e.enumtypid = t.oid
     where t.typnamespace = 'public'::regnamespace group by t.typname order by t.typname collate "C"`,
  );
  return types.map(({ name, labels }) => `CREATE TYPE ${name} AS ENUM (${labels});\n`).join('');
}

/** Leaves out the sequences of identity columns. */
async function sequences(client: Client): Promise<string> {
  const found = await rowsOf<{ name: string; isPublic: boolean }>(
    client,
    `select relname as name, has_sequence_privilege('public', c.oid, 'usage') as "isPublic" from pg_class c
     where ${OWN_TABLES} and relkind = 'S'
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i')
     order by relname collate "C"`,
  );
  return found
    .map(({ name, isPublic }) => {
      const granted = isPublic ? `GRANT USAGE ON SEQUENCE ${name} TO PUBLIC;\n` : '';
      return `CREATE SEQUENCE ${name};\n${granted}`;
    })
    .join('');
}

/** Partitions follow their table. */
async function tablesOf(client: Client): Promise<Table[]> {
  return rowsOf<Table>(
    client,
    `select c.oid, c.relname as name, c.relpersistence = 'u' as unlogged, c.reloptions as options,
            pg_get_partkeydef(c.oid) as partitioned, parent.relname as parent,
            pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_class c
     left join pg_inherits i on i.inhrelid = c.oid
     left join pg_class parent on parent.oid = i.inhparent
     where ${OWN_TABLES} and c.relkind in ('r', 'p')
     order by coalesce(parent.relname, c.relname) collate "C", parent.relname is not null, c.relname collate "C"`,
  );
}

async function tableText(client: Client, table: Table): Promise<string> {
  const head = `CREATE ${table.unlogged ? 'UNLOGGED ' : ''}TABLE ${table.name}`;
  const options = table.options === null ? '' : ` WITH (${[...table.options].sort().join(', ')})`;
  const indexes = await indexesOf(client, table.oid);
  if (table.parent !== null) {
    return `${head} PARTITION OF ${table.parent} ${table.bound ?? ''}${options};\n${indexes}`;
  }
  const columns = (await columnsOf(client, table.oid)).map(columnText);
  const constraints = (await constraintsOf(client, table.oid)).map(
    ({ name, definition }) => `CONSTRAINT ${name} ${definition}`,
  );
  const body = [...columns, ...constraints].map((line) => `  ${line}`).join(',\n');
  const partitioned = table.partitioned === null ? '' : ` PARTITION BY ${table.partitioned}`;
  return `${head} (\n${body}\n)${partitioned}${options};\n${indexes}`;
}

async function columnsOf(client: Client, tableOid: number): Promise<Column[]> {
  return rowsOf<Column>(
    client,
    `select quote_ident(a.attname) as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
            a.attidentity = 'a' as identity, pg_get_expr(d.adbin, d.adrelid) as default
     from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    tableOid,
  );
}

function columnText(column: Column): string {
  const required = column.required ? ' NOT NULL' : '';
  const identity = column.identity ? ' GENERATED ALWAYS AS IDENTITY' : '';
  return `${column.name} ${column.type}${required}${identity}${column.default === null ? '' : ` DEFAULT ${column.default}`}`;
}

/** Leaves out foreign keys, and NOT NULL, which newer versions list as constraints. */
async function constraintsOf(client: Client, tableOid: number): Promise<Constraint[]> {
  return rowsOf<Constraint>(
    client,
    `select conname as name, pg_get_constraintdef(oid, true) as definition from pg_constraint
     where conrelid = $1 and contype in ('p', 'u', 'c', 'x') order by contype, conname collate "C"`,
    tableOid,
  );
}

/** Leaves out the indexes of constraints, and those that a partition inherits. */
async function indexesOf(client: Client, tableOid: number): Promise<string> {
  const indexes = await rowsOf<{ definition: string }>(
    client,
    `select pg_get_indexdef(i.indexrelid, 0, true) as definition
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = $1 and not c.relispartition
       and not exists (select from pg_constraint where conindid = i.indexrelid and contype <> 'f')
     order by c.relname collate "C"`,
    tableOid,
  );
  return indexes.map(({ definition }) => `${definition};\n`).join('');
}

/** Foreign keys are last, so that every table exists. */
async function foreignKeys(client: Client): Promise<string> {
  const keys = await rowsOf<Constraint>(
    client,
    `select c.relname as table, k.conname as name, pg_get_constraintdef(k.oid, true) as definition
     from pg_constraint k join pg_class c on c.oid = k.conrelid
     where ${OWN_TABLES} and k.contype = 'f' and k.conparentid = 0
     order by c.relname collate "C", k.conname collate "C"`,
  );
  return keys
    .map(({ table, name, definition }) => `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition};\n`)
    .join('');
}

/** Postgres lets all roles execute a new function. */
async function functions(client: Client): Promise<string> {
  const found = await rowsOf<{ definition: string; signature: string; isPublic: boolean }>(
    client,
    `select pg_get_functiondef(oid) as definition, oid::regprocedure::text as signature,
            has_function_privilege('public', oid, 'execute') as "isPublic"
     from pg_proc where pronamespace = 'public'::regnamespace and prokind = 'f'
     order by proname collate "C", pg_get_function_identity_arguments(oid) collate "C"`,
  );
  return found
    .map(({ definition, signature, isPublic }) => {
      const revoked = isPublic ? '' : `REVOKE EXECUTE ON FUNCTION ${signature} FROM PUBLIC;\n`;
      return `${definition.trimEnd()};\n${revoked}`;
    })
    .join('\n');
}
