import type { WebhookEvent } from '../webhook-event.ts';

/** The environment and the streams of a command. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes the command's output, with a line break after it. */
  readonly print: (text: string) => void;
  /** Writes one line about a fault to stderr. */
  readonly complain: (text: string) => void;
  /** The time limit of a handler's answer. Absent: 10 s, as for an attempt of the service. */
  readonly timeoutMs?: number;
  /** The pause between two requests for events. Absent: 5 s. */
  readonly pollMs?: number;
  /** Ends `listen`. Absent: it runs until the process is stopped. */
  readonly stop?: AbortSignal;
}

/** Prints a paragraph: the outcome of the event, and the whole event. */
export function printEvent({ print }: Io, event: WebhookEvent, outcome: string): void {
  print(escapeUnprintable(`\n${event.type} ${event.id}: ${outcome}`));
  print(escapeUnprintable(JSON.stringify(event, null, 2)));
}

/** The command failed. The exit code is 1, and `message` is one line on stderr. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** The command has wrong arguments. The exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Node reports a refused connection to several addresses as an AggregateError with an empty message. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message;
  return error.errors.map(messageOf).join('; ');
}

/** C0 without the line break, DEL, C1, and the characters that hide text or change its direction. */
const UNPRINTABLE = /[\0-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Makes a text safe for a terminal. A stranger may have written it, such as the subject of a mail. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
