import { postBare } from './bare-got.ts';
import type { BareGotOptions } from './bare-got.ts';
import { runBenchmark } from './benchmark.ts';

const [role, argument] = process.argv.slice(2);
if (role === 'bare-got') {
  const cost = await postBare(JSON.parse(argument ?? '') as BareGotOptions);
  process.stdout.write(JSON.stringify(cost));
} else {
  await runBenchmark({
    events: numberOf('events', 20_000),
    rounds: numberOf('rounds', 3),
    resultFile: 'bench/result.json',
  });
}

/** `--events 5000`: a whole number, or the default. */
function numberOf(name: string, byDefault: number): number {
  const index = process.argv.indexOf(`--${name}`);
  if (index === -1) return byDefault;
  const value = Number(process.argv[index + 1]);
  if (Number.isInteger(value) && value > 0) return value;
  process.stderr.write(`bench: --${name} takes a whole number above 0\n`);
  process.exit(2);
}
