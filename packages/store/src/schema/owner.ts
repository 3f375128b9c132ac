import { DatabaseError, escapeIdentifier } from 'pg';
import type { Queryable } from '../db/statement.ts';

/** SQLSTATE: the role lacks a right. */
const NOT_ALLOWED = '42501';

/** The role that owns the migrations' table; null when the database has no such table. */
export async function ownerOfTables(db: Queryable): Promise<string | null> {
  const { rows } = await db.query<{ owner: string }>(
    `select pg_get_userbyid(relowner) as owner from pg_class where oid = to_regclass('public._prisma_migrations')`,
  );
  return rows[0]?.owner ?? null;
}

/**
 * Makes the session act as `role`, so that `role` owns what the session makes.
 * @returns false when the session's role may not act as `role`.
 */
export async function actAs(db: Queryable, role: string): Promise<boolean> {
  return isAllowed(db, `set role ${escapeIdentifier(role)}`);
}

/** Runs a statement. @returns false when the session's role has no right to run it. */
export async function isAllowed(db: Queryable, statement: string): Promise<boolean> {
  try {
    await db.query(statement);
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === NOT_ALLOWED) return false;
    throw error;
  }
}
