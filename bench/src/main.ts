import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MECHANISMS } from './ablation/mechanisms.ts';
import { readArguments, USAGE, UsageError } from './arguments.ts';
import { runBenchmark } from './benchmark.ts';
import { placeOf, readResult, writePage } from './publish.ts';
import { FIGURES } from './registry.ts';

// The program is dist/bench.js. The product's bundles are in the same folder.
const bundles = dirname(fileURLToPath(import.meta.url));
const root = dirname(bundles);

await main(process.argv.slice(2));

/** Exit codes: 0 all aims reached, 1 not, 2 wrong usage. */
async function main(args: readonly string[]): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(1)); // this also ends the processes of the tool
  }
  try {
    process.exitCode = await act(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`bench: ${error.message} (see --help)\n`);
    process.exitCode = 2;
  }
}

async function act(args: readonly string[]): Promise<number> {
  const wanted = readArguments(args, {
    figures: FIGURES.map(({ id }) => id),
    mechanisms: Object.keys(MECHANISMS),
  });
  switch (wanted.action) {
    case 'help':
      process.stdout.write(`${USAGE}\n`);
      return 0;
    case 'list':
      for (const { id, title } of FIGURES) process.stdout.write(`${id.padEnd(20)}${title}\n`);
      process.stdout.write('\nmechanisms, for --without\n');
      for (const [name, { without }] of Object.entries(MECHANISMS))
        process.stdout.write(`${name.padEnd(20)}${without}\n`);
      return 0;
    case 'page': {
      const place = placeOf(resolve(wanted.of));
      writePage(readResult(wanted.of), place, join(root, 'bench', 'notes'));
      return 0;
    }
    case 'run':
      return (await runBenchmark(wanted, { root, bundles })) ? 0 : 1;
  }
}
