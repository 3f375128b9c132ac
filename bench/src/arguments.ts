import { parseArgs } from 'node:util';

export type BenchArguments =
  | RunArguments
  | { readonly action: 'list' | 'help' }
  | { readonly action: 'page'; readonly of: string };

export interface RunArguments {
  readonly action: 'run';
  /** The chosen figures, in the order of the registry. */
  readonly only: readonly string[];
  /** Null: three rounds, or one with `quick`. */
  readonly rounds: number | null;
  readonly quick: boolean;
  /** The number of cores that the run may use. Null: all. */
  readonly cores: number | null;
  readonly out: string;
  readonly publish: boolean;
  readonly profile: boolean;
  /** The mechanisms that relay and worker run without. */
  readonly without: readonly string[];
}

/** The names that the arguments may use. */
export interface Known {
  readonly figures: readonly string[];
  readonly mechanisms: readonly string[];
}

export const USAGE = `usage: npm run bench -- [--only ID,ID] [--rounds N] [--cores N] [--quick] [--out FOLDER] [--publish] [--profile]
                            [--without MECHANISM,MECHANISM]
       npm run bench -- --list
       npm run bench -- --page-of RESULT_FILE`;

const OPTIONS = {
  only: { type: 'string' },
  rounds: { type: 'string' },
  cores: { type: 'string' },
  quick: { type: 'boolean', default: false },
  out: { type: 'string', default: '.data/bench' },
  publish: { type: 'boolean', default: false },
  profile: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  'page-of': { type: 'string' },
  without: { type: 'string' },
} as const;

/** Wrong input. The message is one line. */
export class UsageError extends Error {}

/** @throws UsageError */
export function readArguments(args: readonly string[], known: Known): BenchArguments {
  const values = parsed(args);
  if (values.help) return { action: 'help' };
  if (values.list) return { action: 'list' };
  const page = values['page-of'];
  if (page !== undefined) return { action: 'page', of: page };
  const without = values.without === undefined ? [] : chosen('mechanism', values.without, known.mechanisms);
  if (without.length > 0 && values.publish)
    throw new UsageError('a run --without a mechanism is not published');
  return {
    action: 'run',
    only: values.only === undefined ? known.figures : chosen('figure', values.only, known.figures),
    rounds: values.rounds === undefined ? null : count('--rounds', values.rounds),
    cores: values.cores === undefined ? null : count('--cores', values.cores),
    quick: values.quick,
    out: values.out,
    publish: values.publish,
    profile: values.profile,
    without,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    // Node's message without its second sentence, which gives advice.
    throw new UsageError(error instanceof Error ? (error.message.split(/[.\n]/)[0] ?? '') : String(error));
  }
}

function chosen(what: string, list: string, known: readonly string[]): string[] {
  const wanted = list.split(',').map((id) => id.trim());
  const unknown = wanted.find((id) => !known.includes(id));
  if (unknown !== undefined) {
    throw new UsageError(`there is no ${what} '${unknown}'; there are ${known.join(', ')}`);
  }
  return known.filter((id) => wanted.includes(id));
}

function count(option: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 100) {
    throw new UsageError(`${option} takes a whole number from 1 to 100, not '${text}'`);
  }
  return value;
}
