import { InvalidArgumentError } from 'commander';

/** Parses a single-line text. @param what the noun for the text in the error, such as `note` */
export function oneLine(text: string, lengthMax: number, what: string): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > lengthMax || /\p{Cc}/u.test(trimmed)) {
    throw new InvalidArgumentError(`A ${what} has 1 to ${lengthMax} characters in one line.`);
  }
  return trimmed;
}
