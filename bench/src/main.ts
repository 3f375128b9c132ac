import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseWish, USAGE, UsageError } from './arguments.ts';
import { runBenchmark } from './benchmark.ts';
import { placeOf, readResult, writePage } from './publish.ts';
import { FIGURES } from './registry.ts';
import { apiLayersCommands } from './roles/api-layers.ts';
import { bareExpressCommands } from './roles/bare-express.ts';
import { bareCommands } from './roles/bare-posts.ts';
import { bareSmtpCommands } from './roles/bare-smtp.ts';
import { callerCommands } from './roles/caller.ts';
import { receiverCommands } from './roles/receiver.ts';
import { serveRole } from './roles/role-process.ts';
import type { Commands } from './roles/role-process.ts';

// The program is dist/bench.js. The product's bundles are in the same folder.
const bundles = dirname(fileURLToPath(import.meta.url));
const root = dirname(bundles);

const [first, role] = process.argv.slice(2);
if (first === 'role') serveRole(commandsOf(role ?? ''));
else await main(process.argv.slice(2));

/** Runs this program as one of the tool's own processes. */
function commandsOf(name: string): Commands {
  switch (name) {
    case 'receiver':
      return receiverCommands();
    case 'bare':
      return bareCommands();
    case 'bare-express':
      return bareExpressCommands();
    case 'api-layers':
      return apiLayersCommands();
    case 'bare-smtp':
      return bareSmtpCommands();
    case 'caller':
      return callerCommands(
        process.env['BENCH_DATABASE_URL'] ?? '',
        Number(process.env['BENCH_CONNECTIONS']),
      );
    default:
      throw new Error(`there is no role ${name}`);
  }
}

/** Exit codes: 0 all aims reached, 1 not, 2 wrong usage. */
async function main(args: readonly string[]): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(1)); // its processes end with it
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
  const wish = parseWish(
    args,
    FIGURES.map(({ id }) => id),
  );
  switch (wish.action) {
    case 'help':
      process.stdout.write(`${USAGE}\n`);
      return 0;
    case 'list':
      for (const { id, title } of FIGURES) process.stdout.write(`${id.padEnd(20)}${title}\n`);
      return 0;
    case 'page': {
      const place = placeOf(resolve(wish.of));
      writePage(readResult(wish.of), place, join(root, 'bench', 'notes'));
      return 0;
    }
    case 'run':
      return (await runBenchmark(wish, { root, bundles })) ? 0 : 1;
  }
}
