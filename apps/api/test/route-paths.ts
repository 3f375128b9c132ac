import { createLinkTokens, createUnsubscribeTokens, newId } from '@postrider/domain';
import type { AttachmentId, Noun } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { RouteContract } from './fuzz/route-contract.ts';
import { SECRET_KEYS } from './start-api.ts';

type PathNoun = NonNullable<RouteContract['noun']>;

/** The noun of the ids that a path has for it; null: it has tokens. */
export function idNoun(noun: PathNoun): Noun | null {
  if (noun === 'token' || noun === 'link') return null;
  if (noun === 'threadedInbox') return 'inbox';
  if (noun === 'eventedWebhook' || noun === 'recoveredWebhook') return 'webhook';
  return noun === 'heldMessage' ? 'message' : noun;
}

/** The path of a route with this in the place of `:id`, and in the place of the others what belongs to it. */
export function filledPath(path: string, id: string): string {
  return path
    .replace(':id', () => id)
    .replace(':attachment', () => (/^(?:em_|%65%6d%5f)/.test(id) ? `${id}.0` : attachmentIdOf(id)))
    .replace(':thread', () => companionOf('thread', 'thr', id))
    .replace(':recovery', () => companionOf('recovery', 'rec', id))
    .replace(':event', () => companionOf('event', 'evt', id))
    .replace(':email', () => companionOf('message', 'msg', id));
}

/** The messages of the tests have one attachment, whose id follows from theirs. */
export function attachmentIdOf(messageId: string): AttachmentId {
  return companionOf('attachment', 'att', messageId) as AttachmentId;
}

/**
 * The inboxes of the tests with a thread have one with one message, the webhooks with an event or a recovery have one.
 * The ids of these follow from theirs.
 */
export function companionOf(noun: Noun, prefix: string, id: string): string {
  const [, ulid] = /^(?:(?:msg|ibx|wh)_|%6d%73%67%5f|%69%62%78%5f|%77%68%5f)(.*)$/.exec(id) ?? [];
  return ulid === undefined ? newId(noun, systemClock) : `${prefix}_${ulid}`;
}

/** What a path may have for the noun, and leads nowhere. @param keys of tokens. */
export function idOfNothing(noun: PathNoun, keys: readonly Buffer[] = SECRET_KEYS): string {
  const named = idNoun(noun);
  if (named !== null) return newId(named, systemClock);
  if (noun === 'link') {
    const target = { messageId: newId('message', systemClock), attachmentId: null };
    return createLinkTokens(keys, systemClock).seal(target).token;
  }
  const target = { accountId: newId('account', systemClock), topicId: newId('topic', systemClock) };
  return createUnsubscribeTokens(keys).seal({ ...target, address: 'bob@b.example' });
}
