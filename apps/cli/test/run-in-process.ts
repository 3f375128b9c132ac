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
}

/** Registers hooks: one database for the test file, whose tables are empty before each test, and the command line on it. */
export function setupCli(): TestCli & { readonly database: TestDatabase; readonly rows: Rows } {
  const database = setupDatabase();
  return { database, rows: createRows(database), ...cliOn(() => database.url) };
}

export function cliOn(databaseUrl: () => string): TestCli {
  const cli = (...args: string[]) => runInProcess(args, { DATABASE_URL: databaseUrl() });
  return {
    cli,
    async json(...args) {
      const { code, stdout, stderr } = await cli(...args, '--json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^[^\n]+\n$/);
      return JSON.parse(stdout) as never;
    },
  };
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
