import { runCli } from '../src/cli/run.ts';
import type { Io } from '../src/cli/io.ts';

export interface EndedCommand {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process. */
export async function runCommand(args: readonly string[], io: Partial<Io> = {}): Promise<EndedCommand> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCli(args, {
    env: {},
    print: (text) => out.push(text),
    complain: (text) => err.push(text),
    ...io,
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}
