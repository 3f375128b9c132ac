import type { Writable } from 'node:stream';
import { expect } from '@jest/globals';
import { createRows, fakeClock, setupDatabase, streamInto } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import { runCli } from '../src/run.ts';

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line on one database. */
export interface TestCli {
  readonly cli: (...args: string[]) => Promise<CliResult>;
  /** Runs a command that succeeds, with `--json`. @returns the document that it prints */
  readonly json: <Document = Record<string, unknown>>(...args: string[]) => Promise<Document>;
  /** Runs a command that lists, with `--json`. @returns the ids that it prints */
  readonly idsOf: (...args: string[]) => Promise<string[]>;
}

/** Registers hooks: one database for the test file, whose tables are empty before each test, and the command line on it. */
export function setupCli(): TestCli & { readonly database: TestDatabase; readonly rows: Rows } {
  const database = setupDatabase();
  return { database, rows: createRows(database), ...cliOn(() => database.url) };
}

export function cliOn(databaseUrl: () => string): TestCli {
  const cli = (...args: string[]) => runInProcess(args, { DATABASE_URL: databaseUrl() });
  async function json<Document>(...args: string[]): Promise<Document> {
    const { code, stdout, stderr } = await cli(...args, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^[^\n]+\n$/);
    return JSON.parse(stdout) as Document;
  }
  async function idsOf(...args: string[]): Promise<string[]> {
    const { data } = await json<{ data: { id: string }[] }>(...args);
    return data.map(({ id }) => id);
  }
  return { cli, json, idsOf };
}

/** Runs the real command line in this process, without this process's environment. */
export async function runInProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  dataDir = '/nonexistent',
): Promise<CliResult> {
  const stdout = collector();
  const stderr = collector();
  const code = await runCli(args, { env, dataDir, clock: fakeClock(), stdout, stderr });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collector(): Writable & { text(): string } {
  const chunks: string[] = [];
  return Object.assign(streamInto(chunks), { text: () => chunks.join('') });
}
