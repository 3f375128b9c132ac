import { notificationDetailOf, plainAddress } from '@postrider/domain';
import type { ProviderResult, ProviderNotification } from '@postrider/domain';
import { oneLine } from './one-line.ts';

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

/** The reply of Amazon SES to a message above the sending rate or the daily quota. */
const THROTTLING = /^4\d\d\b.*\bthrottling failure\b/is;

/** True for a negative reply to a command (RFC 5321 4.2.1). Any other text is not a reply. */
export function isReply(response: SmtpFault['response']): boolean {
  return /^[45]\d\d/.test(response || '');
}

/**
 * Sorts a failed attempt. It is refused only when the server permanently rejects (5xx) this message, its
 * sender or all its recipients. It is throttled when the server takes no mail from us for now. All other
 * failures may succeed later: 4xx, no connection, a timeout, a 5xx greeting, a failed login.
 */
export function resultOfFault(fault: SmtpFault, recipients: readonly string[]): ProviderResult {
  const { error, code } = readText(fault);
  if (THROTTLING.test(fault.response || '')) return { kind: 'throttled', error };
  // The next attempt asks the deferred recipients again. Only an accepted message has delayed recipients.
  const notifications = reportsOf(fault.rejectedErrors ?? [], recipients).notifications.filter(
    ({ type }) => type !== 'email.delivery_delayed',
  );
  const reported = notifications.length === 0 ? {} : { notifications };
  return isRefusal(fault)
    ? { kind: 'refused', error, ...reported }
    : { kind: 'deferred', error, code, ...reported };
}

interface RecipientReports {
  readonly notifications: ProviderNotification[];
  readonly deferred: string[];
}

/**
 * @param rejected the server's replies to the recipients that it did not accept.
 * @param recipients as the envelope writes them. The reports use this form. The form of nodemailer has more
 *   quotes, and domains in another case or script.
 */
export function reportsOf(
  rejected: readonly RecipientFault[],
  recipients: readonly string[],
): RecipientReports {
  const written = new Map(recipients.map((address) => [plainAddress(address), address]));
  const reports: RecipientReports = { notifications: [], deferred: [] };
  for (const fault of rejected) {
    const { recipient: asSent, response, message } = fault;
    if (asSent === undefined) continue;
    const recipient = written.get(plainAddress(asSent)) ?? asSent;
    const verdict = judgeRecipient(fault);
    if (verdict === 'email.delivery_delayed') reports.deferred.push(recipient);
    const bounceType = BOUNCE_TYPES[verdict];
    reports.notifications.push({
      type: verdict,
      recipients: [recipient],
      detail: notificationDetailOf({
        bounce_type: bounceType,
        bounce_sub_type: bounceType === null ? null : 'General',
        diagnostic: `smtp; ${oneLine(response || message)}`,
      }),
    });
  }
  return reports;
}

const BOUNCE_TYPES = {
  'email.bounced': 'Permanent',
  'email.soft_bounced': 'Transient',
  'email.delivery_delayed': null,
} as const;

/** Address codes of RFC 3463 3.2. 5.1.7 and 5.1.8 are about the sender, 5.1.90 about its daily limit. */
const ADDRESS_GONE = /^5\.1\.(?!([078]|90)$)\d+$/;
/** "Other address status" (RFC 3463 3.2). Postfix also uses it for senders. The text tells them apart. */
const ANY_ADDRESS = '5.1.0';
/** "Mailbox disabled" (RFC 3463 3.3). Gmail also uses it for a mailbox that receives too much mail. */
const MAILBOX_DISABLED = '5.2.1';
/** About four lines of a reply, 512 bytes each at most (RFC 5321 4.5.3.1.5). More would only cost time. */
const JUDGED_CHARACTERS = 2_000;
/** A reply with one of these and no enhanced code may say that the user does not exist. */
const BARE_CODES = new Set([550, 551, 553]);
const ABOUT_USER = /\b(user|mailbox|recipient|account|address|alias|local part)\b/i;
/** Words of a reply that has another reason than a missing user. */
const OTHER_REASON =
  /\b(relay|polic|spam|block|black|reput|quota|full|storage|space|exhaust|exceed|too many|limit|rate|temporar|verif|auth|login|sender|sending|spf|dkim|dmarc|rbl|denied|reject.*(content|message))/i;

/**
 * A bounce suppresses its address. So only a reply about the mailbox itself is a bounce, not a reply about
 * policy, quota, size or reputation.
 */
function judgeRecipient({ response, responseCode = 0 }: RecipientFault): keyof typeof BOUNCE_TYPES {
  const text = (response || '').slice(0, JUDGED_CHARACTERS);
  const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1];
  if (!isPermanent(responseCode) || LOGIN_CODES.has(responseCode)) return 'email.delivery_delayed';
  // RFC 5321 4.5.3.1.10: the older 552 for too many recipients means the same as 452.
  if (responseCode === 552 && (enhanced === '5.5.3' || /too many/i.test(text)))
    return 'email.delivery_delayed';
  const textDecides = enhanced === undefined ? BARE_CODES.has(responseCode) : enhanced === ANY_ADDRESS;
  // An address in the reply may contain any word.
  const words = text.replaceAll(/<[^<>]*@[^<>]*>|\S*@\S*/g, ' ');
  const isAboutUser = textDecides ? ABOUT_USER.test(words) : enhanced === MAILBOX_DISABLED;
  const isGone = (isAboutUser && !OTHER_REASON.test(words)) || ADDRESS_GONE.test(enhanced ?? '');
  return isGone ? 'email.bounced' : 'email.soft_bounced';
}

function isRefusal(fault: SmtpFault): boolean {
  if (fault.code !== 'EENVELOPE' && fault.code !== 'EMESSAGE') return false;
  const rejected = fault.rejectedErrors ?? [];
  if (rejected.length > 0) return rejected.every((each) => judgeRecipient(each) !== 'email.delivery_delayed');
  const code = fault.responseCode;
  // No code: nodemailer rejected the message before sending, for its size or an invalid address.
  return code === undefined || (isPermanent(code) && !LOGIN_CODES.has(code));
}

function isPermanent(code: number): boolean {
  return code >= 500;
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
