import { userInfo } from 'node:os';
import type { Actor } from '@postrider/store';
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import type { Io } from './io.ts';
import { oneLine } from './one-line.ts';

/** The options of a command that changes something. */
export interface ActorOptions {
  readonly as?: string;
  readonly note?: string;
}

const NAME_MAX_LENGTH = 100;
const NOTE_MAX_LENGTH = 500;

/** Adds `--as` and `--note`. */
export function withActor(command: Command): Command {
  return command
    .option(
      '--as <name>',
      'who acts, for the audit; default: the login (in a container, always pass it)',
      parseName,
    )
    .option('--note <text>', 'why, for the audit; no e-mail address', parseNote);
}

/** The actor, as the audit names it. */
export function actorOf(io: Io, { as, note }: ActorOptions): Actor {
  return { kind: 'cli', name: as ?? login(io), note };
}

/** The user behind `sudo`, otherwise that of this process. A container may run as a user without a name. */
function login({ env }: Io): string {
  const sudoer = env['SUDO_USER']?.trim() ?? '';
  if (sudoer !== '') return sudoer;
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** The name of a person or of a key. */
export function parseName(text: string): string {
  return oneLine(text, NAME_MAX_LENGTH, 'name');
}

/** Refuses an `@`: an erasure leaves the audit alone, so a note must not hold an address. */
function parseNote(text: string): string {
  const note = oneLine(text, NOTE_MAX_LENGTH, 'note');
  if (note.includes('@')) throw new InvalidArgumentError('A note holds no e-mail address.');
  return note;
}
