import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg';
import { createPool } from '../src/db/pool.ts';
import type { PoolOptions } from '../src/db/pool.ts';
import { joinedWholeScans, nodesOf } from './plan-nodes.ts';
import type { PlanNode } from './plan-nodes.ts';

/** What Postgres did for one statement, by `explain (analyze)`. */
export interface ExplainedStatement {
  readonly text: string;
  readonly ms: number;
  /**
   * Tables that were read from end to end. In a session that reads by index only also the tables and indexes that a
   * join would read whole, if Postgres believed that every table is empty. It does if it counts while one transaction
   * fills them. The first entry of a text has them.
   */
  readonly readWhole: readonly string[];
  /** The most rows that any step of the plan went through, those thrown away included. */
  readonly rowsMax: number;
  /** The pages of 8 KB that were read by way of each index, those of the table included. */
  readonly pagesBy: Readonly<Record<string, number>>;
}

interface RunNode extends PlanNode {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly RunNode[];
}

interface Explained {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: RunNode; readonly 'Execution Time': number }];
}

/**
 * The same pool, which explains each select, insert, update and delete where it is asked, and undoes that, before it
 * runs it. @param seen gets one entry for each.
 */
export function explainedPool(pool: Pool, seen: ExplainedStatement[]): Pool {
  const query = async (asked: string | QueryConfig, given?: unknown[]): Promise<QueryResult> => {
    const { text, values } = textAndValues(asked, given);
    const client = await pool.connect();
    try {
      await client.query('begin');
      if (isPlanned(text)) await explain(client, { text, values, seen });
      await client.query('rollback');
      return await client.query(text, values);
    } finally {
      client.release();
    }
  };
  const connect = async (): Promise<PoolClient> => explainedClient(await pool.connect(), seen);
  return { query, connect } as unknown as Pool;
}

/** @returns what Postgres did for each statement of `work`, which gets a pool of its own */
export async function explained(
  databaseUrl: string,
  work: (pool: Pool) => Promise<unknown>,
  plans: PoolOptions['plans'] = 'each time',
): Promise<ExplainedStatement[]> {
  const options = { databaseUrl, size: 2, applicationName: 'explained-test', durableCommits: false, plans };
  const pool = createPool({ ...options, onError: () => undefined });
  const seen: ExplainedStatement[] = [];
  try {
    await work(explainedPool(pool, seen));
  } finally {
    await pool.end();
  }
  return seen;
}

function explainedClient(client: PoolClient, seen: ExplainedStatement[]): PoolClient {
  const query = async (asked: string | QueryConfig, given?: unknown[]): Promise<QueryResult> => {
    const { text, values } = textAndValues(asked, given);
    if (isPlanned(text)) {
      await client.query('savepoint explained');
      await explain(client, { text, values, seen });
      await client.query('rollback to savepoint explained');
    }
    return client.query(text, values);
  };
  const release = (error?: Error | boolean): void => client.release(error);
  return { query, release } as unknown as PoolClient;
}

function textAndValues(asked: string | QueryConfig, given: unknown[] = []) {
  const { text, values = [] } = typeof asked === 'string' ? { text: asked, values: given } : asked;
  return { text, values };
}

/** A statement may have its name in front. */
function isPlanned(text: string): boolean {
  return /^\s*(?:\/\*[^*]*\*\/\s*)?(?:select|insert|update|delete|with)\b/.test(text);
}

async function explain(
  client: PoolClient,
  { text, values, seen }: { text: string; values: unknown[]; seen: ExplainedStatement[] },
): Promise<void> {
  const { rows } = await client.query<Explained>(`explain (analyze, buffers, format json) ${text}`, values);
  const [answer] = rows[0]?.['QUERY PLAN'] ?? [];
  if (answer === undefined) throw new Error(`not explained: ${text}`);
  const nodes = nodesOf(answer.Plan);
  const isFirst = seen.every((other) => other.text !== text);
  seen.push({
    text,
    ms: answer['Execution Time'],
    readWhole: [
      ...nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : [])),
      ...(isFirst ? await joinedWholeIfEmpty(client, text, values) : []),
    ],
    rowsMax: Math.max(...nodes.map(rowsOf)),
    pagesBy: pagesByIndex(nodes),
  });
}

const FORGET_COUNTS = `
  update pg_class set reltuples = 0, relpages = greatest(relpages, 1)
  where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace`;

/** Plans the statement again. The caller rolls back what this writes. */
async function joinedWholeIfEmpty(client: PoolClient, text: string, values: unknown[]): Promise<string[]> {
  const { rows: settings } = await client.query<{ seqscan: string }>(
    'select current_setting($1) as seqscan',
    ['enable_seqscan'],
  );
  if (settings[0]?.seqscan === 'on') return [];
  await client.query(FORGET_COUNTS);
  const { rows } = await client.query<Explained>(`explain (format json) ${text}`, values);
  return rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => joinedWholeScans(Plan)));
}

/** Several steps may read one index. */
function pagesByIndex(nodes: readonly RunNode[]): Record<string, number> {
  const pages: Record<string, number> = {};
  for (const node of nodes) {
    const index = node['Index Name'];
    if (index === undefined) continue;
    pages[index] = (pages[index] ?? 0) + node['Shared Hit Blocks'] + node['Shared Read Blocks'];
  }
  return pages;
}

function rowsOf(node: RunNode): number {
  const thrownAway = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return (node['Actual Rows'] + thrownAway) * node['Actual Loops'];
}
