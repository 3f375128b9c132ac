import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { BareGotOptions, Cost } from './bare-got.ts';

/** Runs postBare in a process of its own: this program again, in another role. */
export async function postBareInProcess(options: BareGotOptions, caFile: string): Promise<Cost> {
  const child = spawn(process.execPath, [process.argv[1] ?? '', 'bare-got', JSON.stringify(options)], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: caFile },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = await text(child.stdout);
  if (output === '') throw new Error('the bare-got process said nothing');
  return JSON.parse(output) as Cost;
}
