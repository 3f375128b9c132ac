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
  'count-ses-mail: ses_mail_by_age', // counts them
  'due-recoveries: recoveries_running',
  'find-accounts: accounts_pkey, domains_of_account, inboxes_of_account', // reads the names of all accounts
  'find-message-by-id: removed_inboxes_pkey', // inboxes that are being removed
  'find-recipients: inboxes_postmaster', // one row
  'lock-recovery: recoveries_running',
  'read-body-piece: removed_inboxes_pkey',
  'released-domain: released_domains_pkey', // takes a random one
  'size-of-body: removed_inboxes_pkey',
];

test('no statement reads a whole table or index, planned while they are empty', async () => {
  const all = await statements();
  expect(all.length).toBeGreaterThan(100);
  const whole: string[] = [];
  for (const statement of all) {
    const scans = wholeScans(await planOf(statement));
    if (scans.length > 0) whole.push(`${statement.name}: ${scans.join(', ')}`);
  }
  expect(whole.sort()).toEqual(WHOLE);
});
