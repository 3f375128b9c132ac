import { faultsOf, requestDigest, senderDomain, UNKNOWN_TOPIC } from '@postrider/domain';
import type { EmailId, FieldFault, RequestedEmail, TopicId } from '@postrider/domain';
import type { EmailStore } from '@postrider/store';
import type { Answer } from '../../http/answer.ts';
import { parseIdempotencyKey } from '../../http/idempotency-key.ts';
import { invalidFields } from '../../problems/answers.ts';
import type { RouteRequest } from '../route.ts';
import { sendRefusal } from './send-refusal.ts';

export interface Mailroom {
  readonly emails: Pick<EmailStore, 'send' | 'unknownTopics'>;
  /** Whether live mail may only come from domains that the account has verified. */
  readonly verifiedDomainsOnly: boolean;
}

/** The messages of one request: all are stored, or none. */
export interface Submission {
  readonly request: Pick<RouteRequest, 'key' | 'headers' | 'body'>;
  /** An idempotency key is known on this route only. */
  readonly route: string;
  readonly messages: readonly RequestedEmail[];
  readonly success: (ids: readonly EmailId[]) => Answer;
}

/** Takes messages in: every fault at once, then one statement that stores them, or says why not. */
export async function submit(mailroom: Mailroom, submission: Submission): Promise<Answer> {
  const { request, route, messages, success } = submission;
  const { accountId, kind } = request.key;
  const parsedKey = parseIdempotencyKey(request.headers);
  const faults = [...(parsedKey.ok ? [] : [parsedKey.fault]), ...faultsOf(messages)];
  if (!parsedKey.ok || faults.length > 0) {
    const unknown = await mailroom.emails.unknownTopics(accountId, topicsOf(messages));
    return invalidFields([...faults, ...topicFaults(messages, unknown)]);
  }
  const drafts = messages.flatMap(({ parse }) => (parse.ok ? [parse.draft] : []));
  const { key } = parsedKey;
  const outcome = await mailroom.emails.send({
    accountId,
    kind,
    drafts,
    domains:
      mailroom.verifiedDomainsOnly && kind === 'live' ? drafts.map(({ from }) => senderDomain(from)) : [],
    idempotency: key === null ? null : { route, key, digest: requestDigest(request.body) },
  });
  switch (outcome.kind) {
    case 'stored':
    case 'repeated':
      return success(outcome.ids);
    case 'unknown-topics':
      return invalidFields(topicFaults(messages, outcome.ids));
    case 'missing':
      throw new Error('only a reply has a thread that can be missing');
    case 'conflict':
    case 'unverified-domains':
    case 'inbox-over-limit':
    case 'thread-over-limit':
      return sendRefusal(outcome);
  }
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
