import { LIMITS } from './limits.ts';

/** Selects the base of a problem's type URI (contract 7.1). */
export type ProblemFamily = 'service' | 'platform';

interface ProblemDefinition {
  readonly status: number;
  /** Some HTTP routes use this status instead of `status` (contract 7.2). */
  readonly alsoStatus?: number;
  readonly title: string;
  readonly family: ProblemFamily;
  /** Says what happened. docs/problems.md shows it with `remedy` (contract 7.3). */
  readonly when: string;
  readonly remedy: string;
}

const BACK_OFF = 'Send it again later, each time after a longer pause.';

/** All problem documents of this version (contract 7.2), by slug. */
export const PROBLEMS = {
  'api-key-unauthorized': {
    status: 401,
    title: 'API key missing or not valid',
    family: 'platform',
    when: 'The key is missing, malformed, unknown, revoked or expired: one answer for all.',
    remedy: 'Send a valid key as `Authorization: Bearer <API key>`.',
  },
  'api-key-forbidden': {
    status: 403,
    title: 'API key lacks the required scope',
    family: 'platform',
    when: 'The key is valid and lacks the scope of the route, which `detail` names; or it is a test key, and the route is for live keys; or the account is suspended.',
    remedy:
      'Use a key that has the scope, and a live one where `detail` asks for it. Ask the operator about a suspended account.',
  },
  'domain-not-verified': {
    status: 403,
    title: 'Domain not verified',
    family: 'service',
    when: 'Live mail from a domain that the account has not verified.',
    remedy: 'Publish the records of the domain, have it verified, and send again.',
  },
  'inbox-limit': {
    status: 403,
    title: 'Inbox limit reached',
    family: 'service',
    when: `The account has ${LIMITS.inboxes} inboxes, which is the maximum. Those of test keys count.`,
    remedy: 'Delete an inbox.',
  },
  'held-needs-manage': {
    status: 403,
    title: 'Held mail needs inbound:manage',
    family: 'service',
    when: 'The key has `inbound:read` and lacks `inbound:manage`, and asks for held messages or for one of them.',
    remedy: 'Use a key that has `inbound:manage`.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    family: 'platform',
    when: 'There is no such route, or no such resource in the account. Another account’s reads as missing.',
    remedy: 'Check path, method and id.',
  },
  'link-expired': {
    status: 404,
    title: 'Link expired',
    family: 'service',
    when: 'The link is over seven days old or was altered, or its message is deleted: one answer for all.',
    remedy: 'Ask the API for a new link.',
  },
  'idempotency-conflict': {
    status: 409,
    title: 'Idempotency key in conflict',
    family: 'service',
    when: 'The `Idempotency-Key` was used with another request, or the first request with it is still in progress.',
    remedy: 'Repeat the very same request, or use a new key for a new one.',
  },
  'domain-taken': {
    status: 409,
    title: 'Domain already added',
    family: 'service',
    when: 'The domain has been added, by this account or another.',
    remedy: 'Look for it in the list of domains. If it is not there, ask the operator.',
  },
  'inbox-exists': {
    status: 409,
    title: 'Inbox exists already',
    family: 'service',
    when: 'The address is that of an inbox, or on a shared domain of another account’s rule. `+tag` and case make no difference.',
    remedy: 'Look for it in the list of inboxes, or choose another address.',
  },
  'not-held': {
    status: 409,
    title: 'Message is not held',
    family: 'service',
    when: 'The message that shall be released is not held, or was released before.',
    remedy: 'Read the message.',
  },
  'route-exists': {
    status: 409,
    title: 'Inbound route exists already',
    family: 'service',
    when: 'The account has a rule with this `match`; or on a shared domain the address is another account’s, by inbox or by rule.',
    remedy:
      'Look for it in the list of rules, or choose another address. If you never got the answer with its secret, delete it and create it again.',
  },
  'request-too-large': {
    status: 413,
    title: 'Request too large',
    family: 'service',
    when: 'The body is over the limit of the route, which `detail` names.',
    remedy: 'Send less.',
  },
  'validation-failed': {
    status: 422,
    /** For HTTP routes of suppressions and topics, and for the one that SNS posts to. */
    alsoStatus: 400,
    title: 'Validation failed',
    family: 'service',
    when: 'The request breaks a rule, which `detail` names; 400 on suppression and topic routes, and for what is no message of SNS. Send routes list all faults in `errors`.',
    remedy: 'Change the request as told.',
  },
  'rate-limited': {
    status: 429,
    title: 'Rate limit exceeded',
    family: 'platform',
    when: 'The request does not fit in what is left of the key’s limit, or it could not be counted, or the API had no memory for its large body in time. Nothing was stored.',
    remedy: BACK_OFF,
  },
  'inbox-rate-limited': {
    status: 429,
    title: 'Inbox rate limit exceeded',
    family: 'service',
    when: `The request does not fit into what is left of the ${LIMITS.inboxSendsPerHour} messages that an inbox may send in an hour. A reply may count as several. Nothing was stored.`,
    remedy: `${BACK_OFF} Split a batch of more than ${LIMITS.inboxSendsPerHour}.`,
  },
  'thread-rate-limited': {
    status: 429,
    title: 'Thread rate limit exceeded',
    family: 'service',
    when: `The request does not fit into what is left of the ${LIMITS.threadSendsPerHour} messages that an inbox may send into a thread in an hour. Nothing was stored.`,
    remedy: `${BACK_OFF} Split a batch with more than ${LIMITS.threadSendsPerHour} for one thread.`,
  },
  internal: {
    status: 500,
    title: 'Internal error',
    family: 'platform',
    when: 'A fault of the service. The answer says nothing of the inside.',
    remedy: `${BACK_OFF} If it lasts, ask for help with the request id.`,
  },
  'ses-refused': {
    status: 502,
    title: 'Refused by the provider',
    family: 'service',
    when: 'The delivery provider refused an operation on a domain. Nothing was stored.',
    remedy: `${BACK_OFF} It rarely helps: what the provider refuses, it mostly refuses again.`,
  },
  'ses-unavailable': {
    status: 503,
    title: 'Provider not available',
    family: 'service',
    when: 'The delivery provider did not answer an operation on a domain, or could not be asked in time. Nothing was stored.',
    remedy: BACK_OFF,
  },
  'ses-not-configured': {
    status: 503,
    title: 'Sending domains not available',
    family: 'service',
    when: 'This deployment has no sending domains.',
    remedy: 'Ask whoever runs it.',
  },
  'not-ready': {
    status: 503,
    title: 'Service not ready',
    family: 'service',
    when: 'The storage cannot be reached; or the key has too many unread answers; or a request that does much work waited too long for others like it; or a mail thread has more messages than one request changes; or, on a route without a limit, the API had no memory for a large body in time, or too many requests of the account or of the client’s address were in flight, or the account wrote too many deliveries.',
    remedy: BACK_OFF,
  },
} as const satisfies Record<string, ProblemDefinition>;

export type ProblemSlug = keyof typeof PROBLEMS;
export type AlsoStatus = (typeof PROBLEMS)['validation-failed']['alsoStatus'];

/** One fault of a send request: the field's path as written in the request, such as `to[2]`. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

/**
 * The body of `application/problem+json` (contract 7.1). The last three members are extensions (RFC 9457
 * 3.2): Resend's SDK shows its callers `name`, `message` and `statusCode` of an error.
 */
export interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly instance: string;
  readonly errors?: readonly FieldFault[];
  /** The slug, with underscores instead of hyphens. */
  readonly name: string;
  /** The detail, or the title when there is no detail. */
  readonly message: string;
  readonly statusCode: number;
}

export interface ProblemBases {
  readonly service: string;
  readonly platform: string;
}

/**
 * @param requestId becomes `instance`; the same value is sent as `x-request-id`.
 * @param more `status` is the `alsoStatus` of the slug in `PROBLEMS`, on HTTP routes that use it.
 */
export function problemDocument(
  slug: ProblemSlug,
  bases: ProblemBases,
  requestId: string,
  more: {
    readonly detail?: string;
    readonly errors?: readonly FieldFault[];
    readonly status?: AlsoStatus;
  } = {},
): ProblemDocument {
  const { title, family } = PROBLEMS[slug];
  const status = more.status ?? PROBLEMS[slug].status;
  return {
    type: `${bases[family]}/${slug}`,
    title,
    status,
    ...(more.detail === undefined ? {} : { detail: more.detail }),
    instance: requestId,
    ...(more.errors === undefined ? {} : { errors: more.errors }),
    name: slug.replaceAll('-', '_'),
    message: more.detail ?? title,
    statusCode: status,
  };
}
