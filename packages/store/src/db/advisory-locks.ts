/**
 * Classes of advisory locks: the first of two ints. All that Postrider uses are here.
 *
 * Other locks are bigints, by a hash. A customer chooses some of the hashed texts, so such a lock may be any
 * bigint. To Postgres, no bigint is the same lock as two ints.
 */
export const LOCK_CLASSES = {
  /** The functions that make and drop days of the attempt log take it. */
  attemptDays: 72707370,
  /** Shows whether a pooler gives each transaction another session. */
  poolerCheck: 72707371,
  /** Each running worker holds one. */
  worker: 72707372,
  /** The active relay holds one. The relays that can work share another. */
  activeRelay: 72707373,
  /** The default of `events.position` takes it. */
  eventPositions: 72707374,
} as const;

/**
 * A FROM clause with its conditions: the sessions that hold a lock of two ints in this database, as `l`.
 *
 * @param lockClass one of `LOCK_CLASSES`
 * @param number the second int, as SQL
 */
export function holdersOf(lockClass: number, number: number | string): string {
  return `
    from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.classid = ${lockClass} and l.objid = ${number} and l.objsubid = 2 and l.granted
      and l.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())`;
}

/** A bigint: `prisma migrate deploy` locks this key, too. So it and our migrator exclude each other. */
export const MIGRATION_LOCK = 72707369;
