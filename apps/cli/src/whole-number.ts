import { InvalidArgumentError } from 'commander';

interface Range {
  readonly min: number;
  readonly max: number;
  /** The name of the number: `limit`. */
  readonly what: string;
  /** A word that the option also takes. */
  readonly or?: string;
}

/** A whole number on the command line. */
export function wholeNumber(text: string, { min, max, what, or }: Range): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (number >= min && number <= max) return number;
  const other = or === undefined ? '' : `, or ${or}`;
  throw new InvalidArgumentError(`A ${what} is a whole number from ${min} to ${max}${other}.`);
}
