import { hasControlCharacter } from './email-address.ts';
import { LIMITS } from './limits.ts';

/** Written by the service itself, or structure of the message: not for a customer to set. */
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
]);
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,76}$/;

/** A fault of the `headers` field: of one header by its name, or of the field itself (`name` null). */
export interface HeaderFault {
  readonly name: string | null;
  readonly message: string;
}

/** The faults of extra headers as a request wrote them; none for an object of acceptable strings. */
export function headerFaults(written: unknown): HeaderFault[] {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    return [{ name: null, message: 'must be an object of strings' }];
  }
  const entries = Object.entries(written);
  if (entries.length > LIMITS.headers) {
    return [{ name: null, message: `has more than ${LIMITS.headers} headers` }];
  }
  return entries.flatMap(([name, value]) =>
    [nameFault(name), valueFault(value)].flatMap((message) => (message === null ? [] : [{ name, message }])),
  );
}

function nameFault(name: string): string | null {
  // `__proto__` is a legal token, but no header anyone sends, and unsafe as a key of plain objects.
  if (!HEADER_NAME.test(name) || name === '__proto__') return 'is not a valid header name';
  return RESERVED_HEADERS.has(name.toLowerCase()) ? 'is set by the service' : null;
}

function valueFault(value: unknown): string | null {
  if (typeof value !== 'string') return 'must be a string';
  if (value.length > LIMITS.headerLength) return `is longer than ${LIMITS.headerLength} characters`;
  return hasControlCharacter(value) ? 'contains a control character' : null;
}
