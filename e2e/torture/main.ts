import { readArguments, USAGE } from './arguments.ts';
import type { TortureArguments } from './arguments.ts';
import { EXPERIMENTS } from './experiments/index.ts';
import { torture } from './torture.ts';

function argumentsOrExit(): TortureArguments {
  try {
    return readArguments(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`torture: ${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

const wanted = argumentsOrExit();
if (wanted.list) {
  for (const { number, title, runs } of EXPERIMENTS) {
    process.stdout.write(`${String(number).padStart(3)}  ${runs === 'ci' ? '    ' : 'long'}  ${title}\n`);
  }
} else {
  // A failed experiment may leave timers and sockets, which would keep this process alive.
  process.exit((await torture(wanted, EXPERIMENTS)) ? 0 : 1);
}
