import { Writable } from 'node:stream';
import { fakeClock } from '@postrider/testing';
import { runCli } from '../src/run.ts';

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
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
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk.toString('utf8'));
      done();
    },
  });
  return Object.assign(stream, { text: () => chunks.join('') });
}
