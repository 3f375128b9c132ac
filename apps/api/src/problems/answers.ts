import { LIMITS } from '@postrider/domain';
import type { AlsoStatus, FieldFault, ProblemSlug, Scope } from '@postrider/domain';
import type { ProblemAnswer } from '../http/answer.ts';
import { shortened } from './quoted.ts';

/*
 * The problem answers of the API. A detail never names an id, a key or an internal part. A constant answer is
 * the same for every cause, so that a client cannot tell the causes apart.
 */

function problem(slug: ProblemSlug, detail: string): ProblemAnswer {
  return { kind: 'problem', slug, detail };
}

/** The key is missing, malformed, unknown, revoked or expired. The client cannot tell which (contract 5). */
export const unauthorized = problem(
  'api-key-unauthorized',
  'The request carries no valid API key. Send one as "Authorization: Bearer <API key>".',
);

export const noSuchRoute = problem('not-found', 'There is no such route.');

/**
 * The id is malformed, or unknown, or belongs to another account. The client cannot tell which (contract 5).
 */
export function noSuch(noun: string): ProblemAnswer {
  return problem('not-found', `There is no such ${noun}.`);
}

export const suspended = problem('api-key-forbidden', 'The account is suspended.');

export function forbidden(scope: Scope): ProblemAnswer {
  return problem('api-key-forbidden', `The API key lacks the scope ${scope}.`);
}

export const forLiveKeys = problem(
  'api-key-forbidden',
  'The API key is a test key, and the route is for live keys.',
);

/** @param cost null before the body is read: the request then costs at least 1 */
export function overLimit(cost: number | null, limitPerMinute: number): ProblemAnswer {
  return problem(
    'rate-limited',
    `${costs(cost)}, which does not fit in what is left of ${limit(limitPerMinute)}.`,
  );
}

export function limitUnknown(cost: number | null, limitPerMinute: number): ProblemAnswer {
  return problem(
    'rate-limited',
    `${costs(cost)}, which could not be counted against ${limit(limitPerMinute)} just now.`,
  );
}

const NO_CAPACITY =
  'Too many bodies are in flight at the moment, of this key or of others: there was no space for this one. Send it again later.';

/**
 * The API had no space in time for the body, or for the part that was still to come.
 *
 * @param cost what the key was charged before the body was read; null: nothing, as the body decides the cost.
 */
export function noCapacity(cost: number | null, limitPerMinute: number): ProblemAnswer {
  const counted = `${cost === null ? 'could not be' : 'was'} counted against ${limit(limitPerMinute)}`;
  return problem('rate-limited', `${costs(cost)}, which ${counted}. ${NO_CAPACITY}`);
}

function costs(cost: number | null): string {
  return `The request costs ${cost ?? '1 or more'}`;
}

function limit(perMinute: number): string {
  return `the key's limit of ${perMinute} per minute`;
}

export function tooLarge(bytesMax: number): ProblemAnswer {
  return problem('request-too-large', `The body is larger than the ${bytesMax} bytes that this route takes.`);
}

/** @param status 400 on suppression and topic routes (contract 7.2); absent: 422 */
export function invalid(detail: string, status?: AlsoStatus): ProblemAnswer {
  return { ...problem('validation-failed', detail), ...(status === undefined ? {} : { status }) };
}

/** Lists all faults. Only the send routes do this (contract 7.1). */
export function invalidFields(faults: readonly FieldFault[]): ProblemAnswer {
  const [first] = faults;
  const where = first === undefined || first.field === '' ? 'The body' : shortened(first.field);
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more, see errors)` : '';
  return { ...invalid(`${where} ${first?.message ?? 'breaks a rule'}${more}.`), errors: faults };
}

/** @param max the account's limit; the account may have more webhooks than a limit that was lowered */
export function tooManyWebhooks(max: number): ProblemAnswer {
  return invalid(`The account has as many webhooks as it may have: ${max}.`);
}

/** @param max the account's limit; the account may have more domains than a limit that was lowered */
export function tooManyDomains(limit: 'all' | 'unverified', max: number): ProblemAnswer {
  const domains = limit === 'all' ? 'domains' : 'domains that are not verified';
  return invalid(`The account has as many ${domains} as it may have: ${max}.`);
}

/** @param address in normalised form */
export function foreignInboundDomain(address: string): ProblemAnswer {
  return invalid(
    `The account has not verified the domain of ${shortened(address)}, and it is no shared one.`,
  );
}

/** @param address on a shared domain */
export function reservedName(address: string): ProblemAnswer {
  return invalid(`${shortened(address)} is reserved: no account may have it on a shared domain.`);
}

/** @param match `*@` and a domain, in normalised form */
export function foreignWholeDomain(match: string): ProblemAnswer {
  return invalid(
    `The account has not verified the domain of ${shortened(match)}. No rule takes all mail of a shared one.`,
  );
}

/** @param max the account's limit */
export function tooManyBlockedSenders(max: number): ProblemAnswer {
  return invalid(`The account has as many blocked senders as it may have: ${max}.`);
}

export const inboxLimit = problem(
  'inbox-limit',
  `The account has ${LIMITS.inboxes} inboxes, which is the maximum.`,
);

export const inboxOverLimit = problem(
  'inbox-rate-limited',
  `The request does not fit into what is left of the ${LIMITS.inboxSendsPerHour} messages that an inbox may send in an hour.`,
);

export const threadOverLimit = problem(
  'thread-rate-limited',
  `The request does not fit into what is left of the ${LIMITS.threadSendsPerHour} messages that an inbox may send into a thread in an hour.`,
);

export const inboxExists = problem('inbox-exists', 'The address is taken.');

export const heldNeedsManage = problem(
  'held-needs-manage',
  'Held mail is shown to keys with the scope inbound:manage.',
);

export const notHeld = problem('not-held', 'The message is not held.');

/** The link is expired, altered or cut short, or its message is deleted. The client cannot tell which. */
export const linkExpired = problem('link-expired', 'The link has expired or leads nowhere.');

export const ruleExists = problem('route-exists', 'The match is taken.');

/** @param names the domains of From that are not verified */
export function domainNotVerified(names: readonly string[]): ProblemAnswer {
  const [first = ''] = names;
  const more = names.length > 1 ? ` (and ${names.length - 1} more)` : '';
  return problem(
    'domain-not-verified',
    `The account has not verified the domain ${shortened(first)}${more}.`,
  );
}

export function idempotencyConflict(why: 'another request' | 'unfinished'): ProblemAnswer {
  return problem(
    'idempotency-conflict',
    why === 'unfinished'
      ? 'A request with this Idempotency-Key is being served just now.'
      : 'This Idempotency-Key was used for another request in the last 24 hours.',
  );
}

export const domainTaken = problem(
  'domain-taken',
  'The domain has been added already, by this or another account.',
);

/** @param words the provider's own, which the customer may see */
export function refusedByProvider(words: string): ProblemAnswer {
  return problem('ses-refused', `The provider refused: ${words}`);
}

/** @param words what happened instead of an answer */
export function providerUnavailable(words: string): ProblemAnswer {
  return problem('ses-unavailable', `The provider did not answer: ${words}`);
}

/** @param words why the API did not call the provider in time; the provider is not at fault */
export function providerNotAsked(words: string): ProblemAnswer {
  return problem('ses-unavailable', `The provider was not asked: ${words}`);
}

/** The mail provider of this deployment has no domains. */
export const domainsNotConfigured = problem('ses-not-configured', 'This deployment has no sending domains.');

/**
 * The one answer to every message that SNS has not signed or that is refused. Its sender does not learn the
 * reason.
 */
export const notBelieved = invalid(
  'The body is not a message that SNS has signed for a topic that is taken here.',
  400,
);

/** SNS does not give the certificate or the confirmation now. SNS sends the message again after a 5xx. */
export const comeAgain = problem(
  'not-ready',
  'The message cannot be judged at the moment. Send it again later.',
);

/** `noCapacity`, for requests without a rate limit. */
export const noCapacityNow = problem('not-ready', NO_CAPACITY);

/** Too many answers to the key are still on their way. The client asks for more than it reads. */
export const tooManyUnreadAnswers = problem(
  'not-ready',
  'Too many other answers are on their way to be read. Read them first, and send the request again later.',
);

/** Routes without a rate limit answer this when the account's other requests take or write too much. */
export const tooManyInFlight = problem(
  'not-ready',
  'Too many requests of the account are in flight at the moment. Send it again later.',
);

/** The API does costly work for few requests at a time. Other accounts may have all the slots. */
export const noSlotInTime = problem(
  'not-ready',
  'Too many such requests are in flight at the moment, of this account or of others. Send it again later.',
);

/** The count of a recovery did not end in time, so it is unknown whether the expected number matches. */
export const countTakesLong = problem(
  'not-ready',
  'The events could not be counted in time. Send the request again later, or without expected.',
);

/** Keyless routes answer this to a client address that has too many requests in flight. */
export const tooManyFromClient = problem(
  'not-ready',
  'Too many requests from this address are in flight at the moment. Send it again later.',
);

/** The request changed or deleted only a part of the mail thread. */
export const threadIsLarge = problem(
  'not-ready',
  'The thread has more messages than one request changes. Send the request again.',
);

/** Postgres is away. */
export const notReady = problem('not-ready', 'The storage cannot be reached at the moment. Try again later.');

/** An error of ours. The answer says nothing about its cause. */
export const internal: ProblemAnswer = { kind: 'problem', slug: 'internal' };
