import { MASK, maskUrlPasswords } from '../config/mask.ts';
import { messageOf } from './error-words.ts';

/*
 * The second line of defence: the code should not log secrets at all. This module redacts values by name and
 * by form, and limits the size of a line.
 */

export const REDACTED = '[redacted]';

/** Names of values that may be secrets. `body` and `data` may have the text of mail. */
const SECRET_NAME =
  /^(?:(?:proxy[-_]?)?authorization|(?:set[-_]?)?cookie|(?:x[-_])?api[-_]?key|keys?|secrets?|(?:signing|standard)[-_]?secrets?|secrets?[-_]?keys?|password|body|data|[\w-]*(?:token|passphrase|credential)s?|aws_\w+)$/i;
/** Includes tokens under `/u/`: they allow the reader of the log to unsubscribe a person. */
const SECRET_VALUE = /(whsec_|pr_live_|pr_test_|pr_console_)[\w+/=-]+|(\/u\/)[\w.~%-]+/g;
/** A variable of the AWS SDK with its value: as `env` prints it, in JSON, or in JSON inside a string. */
const AWS_VARIABLE = /(\bAWS_\w+(?:\\*")?\s*[=:]\s*)(?:\\*"[^"]*"?|[^\s,;"]+)/g;
/** One fast test for most texts: a text that does not match has no secret. */
const SUSPICIOUS = /whsec_|pr_live_|pr_test_|pr_console_|\/u\/|AWS_|:\/\/|[?&](?:ssl)?pass/i;

const DEPTH_MAX = 8;
const ENTRIES_MAX = 100;
const STRING_MAX_LENGTH = 8192;

/** Masks signing secrets, API keys, tokens under `/u/`, AWS variables and passwords in URLs. */
export function maskSecrets(text: string): string {
  if (text.length <= STRING_MAX_LENGTH) return masked(text);
  // Masks before the final cut: half a secret would no longer match.
  return `${masked(text.slice(0, 2 * STRING_MAX_LENGTH)).slice(0, STRING_MAX_LENGTH)}…`;
}

function masked(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return maskUrlPasswords(text)
    .replace(SECRET_VALUE, `$1$2${REDACTED}`)
    .replace(AWS_VARIABLE, `$1${REDACTED}`);
}

/** A value that the configuration has masked as `***` stays `***`. */
function isSecret(name: string, value: unknown): boolean {
  return value !== undefined && value !== null && value !== MASK && SECRET_NAME.test(name);
}

/** Returns plain JSON without secrets, limited in depth and size. */
export function redact(name: string, value: unknown): unknown {
  return isSecret(name, value) ? REDACTED : redactValue(value, 0);
}

function redactValue(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return maskSecrets(value);
    case 'bigint':
      return value.toString();
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'object':
      return value === null ? null : redactObject(value, depth + 1);
    case 'function':
    case 'symbol':
      return undefined;
    case 'boolean':
    case 'undefined':
      return value;
  }
}

function redactObject(value: object, depth: number): unknown {
  // The depth limit also ends cycles.
  if (depth > DEPTH_MAX) return '[too deep]';
  if (value instanceof Error) return redactError(value, depth);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof URL) return maskSecrets(value.href);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return redactList(value, depth);
  if (value instanceof Set) return redactList([...(value as Set<unknown>)], depth);
  if (value instanceof Map) return redactEntries([...(value as Map<unknown, unknown>)], depth);
  return redactEntries(Object.entries(value), depth);
}

function redactList(list: readonly unknown[], depth: number): unknown[] {
  const kept = list.slice(0, ENTRIES_MAX).map((entry) => redactValue(entry, depth));
  return list.length > ENTRIES_MAX ? [...kept, `[${list.length - ENTRIES_MAX} more]`] : kept;
}

function redactEntries(
  entries: readonly (readonly [unknown, unknown])[],
  depth: number,
): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of entries.slice(0, ENTRIES_MAX)) {
    const key = String(name);
    kept[key] = isSecret(key, value) ? REDACTED : redactValue(value, depth);
  }
  if (entries.length > ENTRIES_MAX) kept['more'] = entries.length - ENTRIES_MAX;
  return kept;
}

/** `{ name, message, stack, code, cause }`; missing ones are left out. */
function redactError(error: Error, depth: number): Record<string, unknown> {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  const known: Record<string, unknown> = { name: error.name, message: maskSecrets(messageOf(error)) };
  if (error.stack !== undefined) known['stack'] = maskSecrets(error.stack);
  if (typeof code === 'string' || typeof code === 'number') known['code'] = code;
  if (cause !== undefined) known['cause'] = redactValue(cause, depth);
  return known;
}
