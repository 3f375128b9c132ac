import { readdirSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { setupPlanStore } from '../../test/plan-store.ts';
import { wholeScans } from '../../test/plan-nodes.ts';
import type { PlanNode } from '../../test/plan-nodes.ts';
import type { Statement } from '../db/statement.ts';

/* A statement may be planned while every table is empty, and keep that plan when they are large (decision 0012). */

const SOURCES = fileURLToPath(new URL('..', import.meta.url));

const plans = setupPlanStore();

async function statements(): Promise<Statement[]> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /[\\/]sql[\\/][\w-]+\.ts$/.test(path),
  );
  const modules = await Promise.all(
    files.map(async (path) => (await import(pathToFileURL(SOURCES + path).href)) as object),
  );
  return modules.flatMap((module) => Object.values(module).filter(isStatement));
}

function isStatement(value: unknown): value is Statement {
  return typeof value === 'object' && value !== null && 'name' in value && 'text' in value;
}

async function planOf({ text }: Statement): Promise<PlanNode> {
  const { rows } = await plans.db.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (generic_plan, format json) ${text}`,
  );
  const [answer] = rows[0]?.['QUERY PLAN'] ?? [];
  if (answer === undefined) throw new Error(`not explained: ${text}`);
  return answer.Plan;
}

/** Tables that stay small, and statements that read all rows. */
const WHOLE = [
  'count-domains: domain_turns', // turns that run
  'count-ses-mail: ses_mail_by_due_time', // counts them
  'find-accounts: accounts_pkey, domains_of_account, inboxes_of_account', // reads the names of all accounts
  'find-message-by-id: removed_inboxes_pkey', // inboxes that are being removed
  'find-recipients: inboxes_postmaster', // one row
  'lock-recovery: recoveries_running',
  'next-recoveries: recoveries_running',
  'read-body-piece: removed_inboxes_pkey',
  'released-domain: released_domains_pkey', // takes a random one
  'size-of-body: removed_inboxes_pkey',
];

/** Tables of waiting work, with rows. Postgres often counts them while they are empty, but still have pages. */
const WORK = {
  deliveries: `(event_id, webhook_id) select 'evt_' || n, 'wh_' || n % 3`,
  email_sends: `(email_id) select 'em_' || n`,
  ses_mail: `(notification_id, provider_message_id, source, recipients, verdicts, content)
             select 'n' || n, 'm' || n, '', '{}', '{}', ''`,
};

/** The first column of each index of waiting work, as Postgres writes it. */
async function firstColumns(): Promise<Map<string, string>> {
  const { rows } = await plans.db.pool.query<{ index: string; column: string }>(
    `select indexrelid::regclass::text as index, pg_get_indexdef(indexrelid, 1, true) as column
     from pg_index where indrelid = any ($1::regclass[])`,
    [Object.keys(WORK)],
  );
  return new Map(rows.map(({ index, column }) => [index, column]));
}

/** The statements that would read a whole table or index, each with these. */
async function readWhole(): Promise<string[]> {
  const all = await statements();
  expect(all.length).toBeGreaterThan(100);
  const columns = await firstColumns();
  const whole: string[] = [];
  for (const statement of all) {
    const scans = wholeScans(await planOf(statement), columns);
    if (scans.length > 0) whole.push(`${statement.name}: ${scans.join(', ')}`);
  }
  return whole.sort();
}

test('no statement reads a whole table or index, planned while they are empty', async () => {
  expect(await readWhole()).toEqual(WHOLE);
});

test('nor does any, planned after Postgres has counted no waiting work in tables that have pages', async () => {
  const counted = Object.entries(WORK).map(
    ([table, rows]) =>
      `insert into ${table} ${rows} from generate_series(1, 20000) n; delete from ${table}; analyze ${table};`,
  );
  await plans.database.query(`set session_replication_role = replica; ${counted.join(' ')}`);
  expect(await readWhole()).toEqual(WHOLE);
});
