import { notificationDetailOf } from '@postrider/domain';
import type { ProviderResult, ProviderNotification } from '@postrider/domain';

/** The fields of nodemailer's error that we read. */
export interface SmtpFault extends Error {
  readonly code?: string | undefined;
  /** The server's reply, which starts with its code. Absent or false when there was no reply. */
  readonly response?: string | false | undefined;
  readonly responseCode?: number | undefined;
  /** The server's replies to the recipients that it rejected. */
  readonly rejectedErrors?: readonly RecipientFault[] | undefined;
}

export interface RecipientFault extends Error {
  readonly recipient?: string | undefined;
  readonly response?: string | false | undefined;
  readonly responseCode?: number | undefined;
}

/** The server wants a login or encryption (RFC 4954 section 6, RFC 3207). Our configuration is at fault. */
const LOGIN_CODES = new Set([530, 534, 535, 538]);
const TEXT_LENGTH_MAX = 500;

/**
 * Sorts a failed attempt. It is refused only when the server permanently rejects (5xx) this message, its
 * sender or all its recipients. All other failures may succeed later: 4xx, no connection, a timeout, a 5xx
 * greeting, a failed login.
 */
export function resultOfFault(fault: SmtpFault): ProviderResult {
  const { error, code } = readText(fault);
  return isRefusal(fault) ? { kind: 'refused', error } : { kind: 'deferred', error, code };
}

/** @param rejected recipients that the server rejected while it accepted the message for others. */
export function notificationsOfRejected(rejected: readonly RecipientFault[]): ProviderNotification[] {
  return rejected.flatMap(({ recipient, response, responseCode, message }) => {
    if (recipient === undefined) return [];
    const permanent = isPermanent(responseCode);
    return [
      {
        type: permanent ? 'email.bounced' : 'email.soft_bounced',
        recipients: [recipient],
        detail: notificationDetailOf({
          bounce_type: permanent ? 'Permanent' : 'Transient',
          bounce_sub_type: 'General',
          diagnostic: `smtp; ${oneLine(response || message)}`,
        }),
      } satisfies ProviderNotification,
    ];
  });
}

function isRefusal(fault: SmtpFault): boolean {
  if (fault.code !== 'EENVELOPE' && fault.code !== 'EMESSAGE') return false;
  const rejected = fault.rejectedErrors ?? [];
  const codes = rejected.length > 0 ? rejected.map(({ responseCode }) => responseCode) : [fault.responseCode];
  // No code: nodemailer rejected it before sending, for its size or an invalid address.
  return codes.every((code) => code === undefined || (isPermanent(code) && !LOGIN_CODES.has(code)));
}

function isPermanent(code: number | undefined): boolean {
  return code !== undefined && code >= 500;
}

/**
 * `error` is for the customer: the server's own words, or a sentence that says why there are none. It never
 * names our server's address or our inner error codes. `code` is for operators only.
 */
function readText(fault: SmtpFault): { error: string; code?: string } {
  if (fault.code === 'EAUTH' || LOGIN_CODES.has(fault.responseCode ?? 0)) {
    const code = String(fault.responseCode ?? 'no reply');
    return { error: 'the mail server does not accept our login', code };
  }
  if (typeof fault.response === 'string' && fault.response !== '') return { error: oneLine(fault.response) };
  if (fault.code === 'EENVELOPE' || fault.code === 'EMESSAGE') return { error: oneLine(fault.message) };
  const system = /\bE[A-Z]{4,}\b/.exec(fault.message)?.[0];
  return { error: 'no answer from the mail server', code: system ?? fault.code ?? 'unknown' };
}

function oneLine(text: string): string {
  return text
    .replaceAll(/[\u0000-\u001f\u007f]+/g, ' ')
    .trim()
    .slice(0, TEXT_LENGTH_MAX);
}
