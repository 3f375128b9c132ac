import { parseEmailAddress, plainAddress } from '@postrider/domain';
import { UsageError } from './failure.ts';

/** Reads an address with or without a name. @throws UsageError */
export function requireAddress(text: string): string {
  const address = plainAddress(parseEmailAddress(text.trim())?.address ?? '');
  if (address === null) throw new UsageError(`"${text}" is not an email address`);
  return address;
}

/** A Message-ID with or without angle brackets. */
export function messageIdOf(text: string): string {
  return text.trim().replace(/^<(.*)>$/, '$1');
}

/** @returns the one option that is given. @throws UsageError when there is none, or more than one. */
export function onlyOne<Name extends string>(
  command: string,
  options: Readonly<Partial<Record<Name, string>>>,
  names: readonly Name[],
): { readonly name: Name; readonly value: string } {
  const given = names.flatMap((name) => {
    const value = options[name];
    return value === undefined ? [] : [{ name, value }];
  });
  const [one] = given;
  if (one === undefined || given.length > 1) {
    throw new UsageError(`${command} needs one of ${names.map(flagOf).join(', ')}`);
  }
  if (one.value.trim() === '') throw new UsageError(`${flagOf(one.name)} has no value`);
  return one;
}

function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
