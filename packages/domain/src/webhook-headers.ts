import type { WebhookId } from './ids.ts';
import { LIMITS } from './limits.ts';
import type { SealedSecret, SecretBox } from './secret-box.ts';
import { headerNamePattern } from './text-patterns.ts';

/** Headers that a customer adds to every attempt, such as a gateway's API key. The values are secret. */
export type WebhookHeaders = Readonly<Record<string, string>>;

/** A fault in the `headers` of a webhook. `name` is the header at fault; null means the field itself. */
export interface WebhookHeaderFault {
  readonly name: string | null;
  /** Never contains a value. */
  readonly message: string;
}

/** A token (RFC 9110 5.6.2) that begins with a letter or a digit. So `__proto__` is no name. */
const NAME = /^[0-9A-Za-z][!#$%&'*+.^_`|~0-9A-Za-z-]*$/;
/** A field value (RFC 9110 5.5) in ASCII: visible characters, with blanks and tabs between them. */
const VALUE = /^(?:[!-~](?:[\t -~]*[!-~])?)?$/;

/** They frame the message, or belong to one connection (RFC 9110 7.6.1). The HTTP client writes them. */
const CONNECTION_HEADERS = [
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
const RESERVED = new Set([...CONNECTION_HEADERS, 'accept-encoding', 'user-agent']);
/** The headers that describe the body, and those of Standard Webhooks. */
const RESERVED_PREFIXES = ['content-', 'webhook-'];

/** The names of our own headers (contract 6.2). @param prefix `Service` gives `Service-Signature`. */
export function deliveryHeaderNames(prefix: string) {
  return {
    signature: `${prefix}-Signature`,
    eventId: `${prefix}-Event-Id`,
    eventType: `${prefix}-Event-Type`,
  };
}

/** The headers in a JSON Schema, for the default prefix of our own ones. */
export const webhookHeadersSchema = {
  type: ['object', 'null'],
  propertyNames: {
    pattern: headerNamePattern(
      '0-9A-Za-z',
      [...RESERVED, ...Object.values(deliveryHeaderNames('service')).map((name) => name.toLowerCase())],
      RESERVED_PREFIXES,
    ),
  },
  additionalProperties: { type: 'string', pattern: VALUE.source },
  maxProperties: LIMITS.webhookHeaders,
  description:
    `Every attempt carries them; no answer shows them. Each name once, in any case. Names of the service’s own ` +
    `headers, of the connection and of the body are refused, and more than ${LIMITS.webhookHeadersLength} characters in all.`,
};

/**
 * The first fault of the headers that a customer asks for, or null.
 *
 * @param prefix of our own headers.
 */
export function webhookHeaderFault(written: unknown, prefix: string): WebhookHeaderFault | null {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    return { name: null, message: 'is not an object of strings' };
  }
  const entries = Object.entries(written);
  const { webhookHeaders: entriesMax, webhookHeadersLength: lengthMax } = LIMITS;
  if (entries.length > entriesMax) return { name: null, message: `has more than ${entriesMax} headers` };
  const own = new Set(Object.values(deliveryHeaderNames(prefix)).map((name) => name.toLowerCase()));
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    const twice = seen.has(lower) ? 'is given twice' : null;
    const message = nameFault(lower, own) ?? twice ?? valueFault(value);
    if (message !== null) return { name, message };
    seen.add(lower);
  }
  const length = entries.reduce((sum, [name, value]) => sum + name.length + String(value).length, 0);
  return length > lengthMax ? { name: null, message: `has more than ${lengthMax} characters` } : null;
}

function nameFault(lower: string, own: ReadonlySet<string>): string | null {
  if (!NAME.test(lower)) return 'is not a valid header name';
  const isReserved = RESERVED.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix));
  return isReserved || own.has(lower) ? 'is set by the service' : null;
}

function valueFault(value: unknown): string | null {
  if (typeof value !== 'string') return 'is not a string';
  return VALUE.test(value) ? null : 'is not a header value of visible ASCII characters';
}

/** The headers as they are stored. They open only for this webhook, and not as its signing secret. */
export function sealHeaders(
  secrets: Pick<SecretBox, 'seal'>,
  headers: WebhookHeaders,
  id: WebhookId,
): SealedSecret {
  return secrets.seal(JSON.stringify(headers), ownerOf(id));
}

/** @throws Error as `SecretBox.open` does. */
export function openHeaders(
  secrets: Pick<SecretBox, 'open'>,
  sealed: SealedSecret,
  id: WebhookId,
): WebhookHeaders {
  return JSON.parse(secrets.open(sealed, ownerOf(id))) as WebhookHeaders;
}

function ownerOf(id: WebhookId): string {
  return `${id}/headers`;
}
