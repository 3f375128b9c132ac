import { plainAddress } from '@postrider/domain';
import { InvalidArgumentError } from 'commander';

const NAME_MAX_LENGTH = 200;

/** Reads `--name`. */
export function parseAccountName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > NAME_MAX_LENGTH) {
    throw new InvalidArgumentError(`A name has 1 to ${NAME_MAX_LENGTH} characters.`);
  }
  // Postgres stores every character except NUL.
  if (name.includes('\0')) throw new InvalidArgumentError('A name holds no NUL character.');
  return name;
}

/**
 * `--notice-email none`: no address. The parser returns this text, because Commander does not keep a null.
 */
const NO_ADDRESS = 'none';

/** Reads `--notice-email`. */
export function parseNoticeEmail(text: string): string {
  const address = text === NO_ADDRESS ? NO_ADDRESS : plainAddress(text.trim());
  if (address === null) throw new InvalidArgumentError('It is an e-mail address without a name, or none.');
  return address;
}

/** The value for the store: null for `none`. */
export function noticeEmailOf(option: string): string | null {
  return option === NO_ADDRESS ? null : option;
}
