import { parseArgs } from 'node:util';

/** The arguments of `npm run torture --`. */
export interface TortureArguments {
  /** The command as it was typed, for the page. */
  readonly command: string;
  readonly list: boolean;
  readonly long: boolean;
  readonly publish: boolean;
  /** The numbers of the chosen experiments. Null: all for CI, or all with `long`. */
  readonly only: readonly number[] | null;
  readonly seed: number;
  readonly minutes: number;
  /** The share of every count, in percent. */
  readonly percent: number;
  readonly outFolder: string;
}

export const USAGE = `usage: npm run torture -- [--list] [--only 3,5] [--seed N] [--long] [--minutes N] [--percent N] [--out FOLDER] [--publish]
  --list     name the experiments and end
  --only     these experiments, whatever kind they are
  --seed     repeat a run: everything left to chance comes from it
  --long     the long experiments, too
  --minutes  the time for all of it (40; with --long 600); what did not run by then has failed
  --percent  of every count, as of events, endpoints and rounds (100): the long ones in short
  --out      folder for the result and the evidence of failures (.data/torture)
  --publish  write docs/torture.md and what it shows
`;

const SEEDS = 2 ** 31;
const MINUTES = 40;
const LONG_MINUTES = 600;

/** @throws TypeError with a sentence for the user. */
export function readArguments(args: readonly string[]): TortureArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      list: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
      only: { type: 'string' },
      seed: { type: 'string' },
      minutes: { type: 'string' },
      percent: { type: 'string', default: '100' },
      out: { type: 'string', default: '.data/torture' },
    },
  });
  const minutesDefault = values.long ? LONG_MINUTES : MINUTES;
  return {
    command: ['npm run torture', ...(args.length === 0 ? [] : ['--', ...args])].join(' '),
    list: values.list,
    long: values.long,
    publish: values.publish,
    only: values.only === undefined ? null : values.only.split(',').map((text) => wholeNumber('only', text)),
    seed: values.seed === undefined ? Math.floor(Math.random() * SEEDS) : wholeNumber('seed', values.seed),
    minutes: values.minutes === undefined ? minutesDefault : wholeNumber('minutes', values.minutes),
    percent: wholeNumber('percent', values.percent),
    outFolder: values.out,
  };
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new TypeError(`--${name} takes whole numbers, not "${text}"`);
}
