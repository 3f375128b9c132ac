import type { IncomingHttpHeaders } from 'node:http';
import {
  faultsOf,
  LIMITS,
  requestDigest,
  senderDomain,
  smtpUtf8Faults,
  UNKNOWN_TOPIC,
} from '@postrider/domain';
import type { EmailDraft, EmailId, FieldFault, RequestedEmail, TopicId } from '@postrider/domain';
import type { EmailStore, SendOutcome } from '@postrider/store';
import type { Answer } from '../http/answer.ts';
import {
  domainNotVerified,
  idempotencyConflict,
  inboxOverLimit,
  invalidFields,
  threadOverLimit,
} from '../problems/answers.ts';
import type { RouteRequest, RouteRules } from './route.ts';

/** One request, with all its messages. */
interface Submission {
  readonly request: Pick<RouteRequest, 'key' | 'headers' | 'body' | 'requestId'>;
  /** The route's name. Each route has its own idempotency keys. */
  readonly route: string;
  readonly messages: readonly RequestedEmail[];
  readonly success: (ids: readonly EmailId[]) => Answer;
}

/** Stores all messages in one statement, or none. A refusal lists every fault of every message. */
export async function sendEmails(
  emails: EmailStore,
  rules: RouteRules,
  { request, route, messages, success }: Submission,
): Promise<Answer> {
  const parsedKey = parseIdempotencyKey(request.headers);
  const faults = [
    ...(parsedKey.ok ? [] : [parsedKey.fault]),
    ...faultsOf(messages),
    ...(rules.smtpUtf8 ? [] : faultsWithoutSmtpUtf8(messages)),
  ];
  if (!parsedKey.ok || faults.length > 0) {
    const unknown = await emails.unknownTopics(request.key.accountId, topicsOf(messages));
    return invalidFields([...faults, ...topicFaults(messages, unknown)]);
  }
  const drafts = messages.flatMap(({ parse }) => (parse.ok ? [parse.draft] : []));
  const { key } = parsedKey;
  const outcome = await emails.send({
    ...sendOf(request, rules, drafts),
    idempotency: key === null ? null : { route, key, digest: requestDigest(request.body) },
  });
  switch (outcome.kind) {
    case 'stored':
    case 'repeated':
      return success(outcome.ids);
    case 'unknown-topics':
      return invalidFields(topicFaults(messages, outcome.ids));
    case 'missing':
      throw new Error('only a reply has a mail thread that can be missing');
    case 'conflict':
    case 'unverified-domains':
    case 'inbox-over-limit':
    case 'thread-over-limit':
      return sendRefusal(outcome);
  }
}

/** Who sends the drafts, and the domains that the account must have verified for them. */
export function sendOf(
  { key: { accountId, kind, id: keyId }, requestId }: Pick<RouteRequest, 'key' | 'requestId'>,
  { verifiedDomainsOnly }: RouteRules,
  drafts: readonly EmailDraft[],
) {
  const domains = verifiedDomainsOnly && kind === 'live' ? drafts.map(({ from }) => senderDomain(from)) : [];
  return { accountId, kind, drafts, domains, sentBy: { keyId, requestId } };
}

/** The faults of addresses that the mail provider cannot take, because it has no SMTPUTF8. */
function faultsWithoutSmtpUtf8(messages: readonly RequestedEmail[]): FieldFault[] {
  return messages.flatMap(({ parse, pathOf }) =>
    parse.ok
      ? smtpUtf8Faults(parse.draft).map(({ field, message }) => ({ field: pathOf(field), message }))
      : [],
  );
}

function topicsOf(messages: readonly RequestedEmail[]): TopicId[] {
  return messages.flatMap(({ parse }) => (parse.ok ? parse.draft.topicId : parse.topicId) ?? []);
}

function topicFaults(messages: readonly RequestedEmail[], unknown: readonly TopicId[]): FieldFault[] {
  return messages.flatMap((message) =>
    topicsOf([message])
      .filter((id) => unknown.includes(id))
      .map(() => ({ field: message.pathOf('topic_id'), message: UNKNOWN_TOPIC })),
  );
}

/** The reasons for which the store refuses a send. Every route that sends answers them alike. */
type Refused = Extract<
  SendOutcome,
  { readonly kind: 'conflict' | 'unverified-domains' | 'inbox-over-limit' | 'thread-over-limit' }
>;

export function sendRefusal(outcome: Refused): Answer {
  switch (outcome.kind) {
    case 'conflict':
      return idempotencyConflict(outcome.why);
    case 'unverified-domains':
      return domainNotVerified(outcome.names);
    case 'inbox-over-limit':
      return inboxOverLimit;
    case 'thread-over-limit':
      return threadOverLimit;
  }
}

type IdempotencyKeyParse =
  | { readonly ok: true; /** null where the request has none */ readonly key: string | null }
  | { readonly ok: false; readonly fault: FieldFault };

/** Joins the values when the request has the header twice. */
export function parseIdempotencyKey(headers: IncomingHttpHeaders): IdempotencyKeyParse {
  const written = headers['idempotency-key'];
  if (written === undefined) return { ok: true, key: null };
  const key = Array.isArray(written) ? written.join(', ') : written;
  if (key.length >= 1 && key.length <= LIMITS.idempotencyKeyLength) return { ok: true, key };
  const message = `must have 1 to ${LIMITS.idempotencyKeyLength} characters`;
  return { ok: false, fault: { field: 'Idempotency-Key', message } };
}
