import { parseArgs } from 'node:util';

export type Wish =
  RunWish | { readonly action: 'list' | 'help' } | { readonly action: 'page'; readonly of: string };

export interface RunWish {
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
}

export const USAGE = `usage: npm run bench -- [--only ID,ID] [--rounds N] [--cores N] [--quick] [--out FOLDER] [--publish] [--profile]
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
} as const;

/** Wrong input. The message is one line. */
export class UsageError extends Error {}

/** @param known the ids of all figures. @throws UsageError */
export function parseWish(args: readonly string[], known: readonly string[]): Wish {
  const values = parsed(args);
  if (values.help) return { action: 'help' };
  if (values.list) return { action: 'list' };
  const page = values['page-of'];
  if (page !== undefined) return { action: 'page', of: page };
  return {
    action: 'run',
    only: values.only === undefined ? known : chosen(values.only, known),
    rounds: values.rounds === undefined ? null : count('--rounds', values.rounds),
    cores: values.cores === undefined ? null : count('--cores', values.cores),
    quick: values.quick,
    out: values.out,
    publish: values.publish,
    profile: values.profile,
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

function chosen(list: string, known: readonly string[]): string[] {
  const wanted = list.split(',').map((id) => id.trim());
  const unknown = wanted.find((id) => !known.includes(id));
  if (unknown !== undefined) {
    throw new UsageError(`there is no figure '${unknown}'; there are ${known.join(', ')}`);
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
