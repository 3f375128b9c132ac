import { LIMITS, problemDocument, PROBLEMS } from '@postrider/domain';
import type { ProblemSlug } from '@postrider/domain';
import type { Answer, ProblemAnswer } from '../http/answer.ts';
import { replyBody } from '../http/body-rules.ts';
import { notAnObject, resourceFieldRule } from '../http/fields.ts';
import * as answers from '../problems/answers.ts';
import type { Documented } from '../routes/route.ts';

/** The request id of every example. */
export const REQUEST_ID = 'req_6f9b0c2d4e8a41b7a3c5d7e9f1b3d5f7';

const BASES = {
  service: 'https://postrider.example/problems',
  platform: 'https://platform.postrider.example/problems',
};

const BAD_ENDPOINT = 'endpoint "http://shop.example.com/" is not an https:// URL.';

/** An answer of each problem, as the API writes it. */
const PROBLEM_ANSWERS: Readonly<Record<ProblemSlug, ProblemAnswer>> = {
  'api-key-unauthorized': answers.unauthorized,
  'api-key-forbidden': answers.forbidden('webhooks:manage'),
  'domain-not-verified': answers.domainNotVerified(['shop.example.com']),
  'inbox-limit': answers.inboxLimit,
  'held-needs-manage': answers.heldNeedsManage,
  'not-found': answers.noSuch('webhook'),
  'link-expired': answers.linkExpired,
  'idempotency-conflict': answers.idempotencyConflict('another request'),
  'domain-taken': answers.domainTaken,
  'inbox-exists': answers.inboxExists,
  'route-exists': answers.ruleExists,
  'not-held': answers.notHeld,
  'request-too-large': answers.tooLarge(LIMITS.bodyBytes),
  'validation-failed': answers.invalid(BAD_ENDPOINT),
  'rate-limited': answers.overLimit(1, 60),
  'inbox-rate-limited': answers.inboxOverLimit,
  'thread-rate-limited': answers.threadOverLimit,
  internal: answers.internal,
  'ses-refused': answers.refusedByProvider('the identity is not valid'),
  'ses-unavailable': answers.providerUnavailable('timeout after 10000 ms'),
  'ses-not-configured': answers.domainsNotConfigured,
  'not-ready': answers.notReady,
};

/** `validation-failed` differs by the kind of route. */
const SENDS = 'validation-failed-of-sends';
const STATUS_400 = 'validation-failed-400';
const VARIANTS: Readonly<Record<string, ProblemAnswer>> = {
  [SENDS]: answers.invalidFields([
    { field: 'to[1]', message: 'is not a valid email address' },
    { field: 'text', message: 'is required unless html is given' },
  ]),
  [STATUS_400]: answers.invalid('name "" is blank.', 400),
};

/** The examples of problems that the responses refer to. */
export function problemExamples(): Readonly<Record<string, { readonly value: object }>> {
  const entries = Object.entries({ ...PROBLEM_ANSWERS, ...VARIANTS });
  return Object.fromEntries(
    entries.map(([name, answer]) => [
      name,
      { value: problemDocument(answer.slug, BASES, REQUEST_ID, answer) },
    ]),
  );
}

/** The examples of the problems that a route answers with one status. */
export function examplesOfProblems(
  route: Documented,
  status: number,
  slugs: readonly ProblemSlug[],
): Readonly<Record<string, { readonly $ref: string }>> {
  const named = slugs.map((slug) => {
    if (slug !== 'validation-failed') return slug;
    if (PROBLEMS[slug].status !== status) return STATUS_400;
    return listsFaults(route) ? SENDS : slug;
  });
  return Object.fromEntries(named.map((name) => [name, { $ref: `#/components/examples/${name}` }]));
}

/** The route's answer to a body that it cannot read. */
function answerToUnreadable({ body }: Documented): Answer | undefined {
  return body?.unreadable('is not valid JSON');
}

/** True when a `validation-failed` lists its faults. Only the send routes do (contract 7.1). */
function listsFaults(route: Documented): boolean {
  const answer = answerToUnreadable(route);
  return answer?.kind === 'problem' && answer.errors !== undefined;
}

/** The text that a route answers with this status. @param required the fields that its body must have */
export function exampleOfText(route: Documented, status: number, required: readonly string[]): string {
  const answer = answerInText(route, status, required);
  if (answer?.kind !== 'plain-text') throw new Error(`${route.path} answers ${status} without a text`);
  return answer.text;
}

function answerInText(route: Documented, status: number, required: readonly string[]): Answer | undefined {
  if (status === 413) return route.body?.tooLarge(null);
  if (status !== 422) return answerToUnreadable(route);
  if (route.body === replyBody) return notAnObject;
  const [field] = required;
  return field === undefined ? undefined : resourceFieldRule.missing(field);
}
