import { hasControlCharacter, isLongerThan } from './email-address.ts';
import { inWords, LIMITS } from './limits.ts';
import { headerNamePattern, inAnyCase, PATTERNS } from './text-patterns.ts';

/** The service writes these headers, or they define the message's structure. Customers cannot set them. */
const RESERVED_HEADERS = new Set([
  'from',
  'sender',
  'to',
  'cc',
  'bcc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'return-path',
  'received',
  'dkim-signature',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-length',
  'authentication-results',
  'x-smtpapi', // commands to SendGrid, in JSON
]);
/**
 * Commands to a provider or relay. They can add hidden recipients, or select another customer's account or
 * stream. They belong to SES, Mandrill, Postmark, Mailgun, Mailjet, SparkPost (MSYS), Brevo (Mailin) and
 * SendGrid.
 */
const RELAY_PREFIXES = [
  'x-ses-',
  'x-mc-',
  'x-pm-',
  'x-mailgun-',
  'x-mj-',
  'x-msys-',
  'x-mailin-',
  'x-sg-',
  'x-sparkpost-',
];
/** Resent messages have `resent-`. Other servers' authentication results have `arc-`. */
const RESERVED_PREFIXES = [...RELAY_PREFIXES, 'resent-', 'arc-'];
const NO_REFERENCES = `has over ${LIMITS.headerLength} characters, and is not up to ${inWords(LIMITS.referencesLength)} of ids in angle brackets`;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,76}$/;

/**
 * The extra headers in a JSON Schema.
 *
 * @param reserved more headers that the service sets, in lower case
 */
export function headersSchema(reserved: Iterable<string> = []) {
  const names = [...RESERVED_HEADERS, ...reserved, '__proto__'];
  const value = { type: 'string', maxLength: LIMITS.headerLength, pattern: PATTERNS.shownLine };
  const references = { type: 'string', maxLength: LIMITS.referencesLength, pattern: PATTERNS.references };
  return {
    type: ['object', 'null'],
    propertyNames: { pattern: headerNamePattern("!#$%&'*+.^_`|~0-9A-Za-z-", names, RESERVED_PREFIXES) },
    patternProperties: { [`^${inAnyCase('references')}$`]: { anyOf: [value, references] } },
    additionalProperties: value,
    maxProperties: LIMITS.headers,
  };
}

/** A fault in the `headers` field. `name` is the header at fault; null means the field itself. */
export interface HeaderFault {
  readonly name: string | null;
  readonly message: string;
}

/**
 * The faults of the extra headers in a request. When there are too many headers, those within the limit are
 * still validated.
 */
export function headerFaults(written: unknown): HeaderFault[] {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    return [{ name: null, message: 'must be an object of strings' }];
  }
  const entries = Object.entries(written);
  const faults = entries.slice(0, LIMITS.headers).flatMap(([name, value]): HeaderFault[] => {
    const message = nameFault(name) ?? valueFault(name, value);
    return message === null ? [] : [{ name, message }];
  });
  const tooMany = entries.length > LIMITS.headers;
  return tooMany ? [...faults, { name: null, message: `has more than ${LIMITS.headers} headers` }] : faults;
}

function nameFault(name: string): string | null {
  // `__proto__` is a legal token, but unsafe as a key of plain objects. It is not a real header.
  if (!HEADER_NAME.test(name) || name === '__proto__') return 'is not a valid header name';
  const lower = name.toLowerCase();
  const reserved =
    RESERVED_HEADERS.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix));
  return reserved ? 'is set by the service' : null;
}

function valueFault(name: string, value: unknown): string | null {
  if (typeof value !== 'string') return 'must be a string';
  if (hasControlCharacter(value)) return 'contains a control character';
  if (!value.isWellFormed()) return 'contains half of a surrogate pair';
  if (value.trim() === '') return 'is empty';
  if (!isLongerThan(value, LIMITS.headerLength)) return null;
  if (name.toLowerCase() !== 'references') return `is longer than ${LIMITS.headerLength} characters`;
  return isReferences(value) ? null : NO_REFERENCES;
}

/** `References` grows with the conversation, so it has a limit of its own. */
function isReferences(value: string): boolean {
  return value.length <= LIMITS.referencesLength && new RegExp(PATTERNS.references).test(value);
}
