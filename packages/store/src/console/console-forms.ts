import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

/** A form that arrives again within this time gets the result of the first time. */
export const CONSOLE_FORM_HOURS = 24;

/** The result of a form. */
export interface FormResult {
  /** The path of the page that shows the result. */
  readonly location: string;
  /** What the action did, in words. */
  readonly outcome: string;
}

/** Claims a form. Concurrent claims wait for the first one. Returns a row to the first claim. */
const CLAIM = statement('claim-console-form')`
    insert into console_forms (token) values ($1) on conflict (token) do nothing returning token`;

const SETTLE = statement('settle-console-form')`
    update console_forms set location = $2, outcome = $3 where token = $1`;

const GIVE_BACK = statement('give-back-console-form')`
    delete from console_forms where token = $1 and location is null`;

const READ = statement('read-console-form')`
    select location, outcome from console_forms where token = $1`;

export type ConsoleFormStore = ReturnType<typeof createConsoleForms>;

/** The forms that the console has received, by their one-time token. */
export function createConsoleForms({ pool }: { readonly pool: Pool }) {
  return {
    /** @returns false when the form was claimed before. */
    async claim(token: string): Promise<boolean> {
      return (await runOn(pool, CLAIM, [token])).length > 0;
    },
    /** Stores the result of the action. */
    async settle(token: string, { location, outcome }: FormResult): Promise<void> {
      await runOn(pool, SETTLE, [token, location, outcome]);
    },
    /** The action did nothing, so the form may be sent again. */
    async giveBack(token: string): Promise<void> {
      await runOn(pool, GIVE_BACK, [token]);
    },
    /** @returns null when the form is unknown, or its action has not ended. */
    async result(token: string): Promise<FormResult | null> {
      const [row] = await runOn<{ location: string | null; outcome: string | null }>(pool, READ, [token]);
      if (row === undefined || row.location === null) return null;
      return { location: row.location, outcome: row.outcome ?? '' };
    },
  };
}
