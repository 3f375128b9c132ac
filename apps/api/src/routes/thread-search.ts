import { hasControlCharacter, LIMITS, oneLineText, wordsPattern } from '@postrider/domain';
import type { FoundThread, ThreadSearch } from '@postrider/store';
import { z } from 'zod';
import { AccountSlots } from '../http/account-slots.ts';
import { COSTLY, inSlot } from '../http/in-slot.ts';
import { listAnswer } from '../http/list-answer.ts';
import { requestedMoment } from '../http/parsed-text.ts';
import { parseQuery } from '../http/query-fields.ts';
import { invalid } from '../problems/answers.ts';
import type { RouteStores } from '../stores.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { pageOf, text } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';
import {
  booleanParameter,
  findInbox,
  listIn,
  selectedIn,
  threadEntry,
  threadObject,
  threadQuery,
} from './threads.ts';

const LISTS = ['from', 'to', 'cc', 'bcc'] as const;

const searchQuery = z.object({
  query: oneLineText(LIMITS.searchLength)
    .optional()
    .meta({ description: 'In the subject, in an address, or in the first 16 KiB of the text.' }),
  start_date: requestedMoment.optional().meta({
    description: 'Received or sent at this time or later. A date: from its start, UTC.',
  }),
  end_date: requestedMoment
    .optional()
    .meta({ description: 'Received or sent before this time. A date: before its start, UTC.' }),
  has_attachment: booleanParameter.meta({ description: 'Whether the message has a file.' }),
});
/** The parameters that may occur only once. `listsOf` reads `from`, `to`, `cc` and `bcc`. */
const parsedQuery = searchQuery.extend({ read: threadQuery.shape.read });

const addresses = (header: string) =>
  z
    .string()
    .optional()
    .meta({
      pattern: wordsPattern(LIMITS.searchAddresses),
      description: `Comma-separated: one of them occurs in ${header}.`,
    });
const documentedQuery = z.object({
  ...searchQuery.shape,
  from: addresses('From'),
  to: addresses('To'),
  cc: addresses('Cc'),
  bcc: addresses('Bcc'),
  ...threadQuery.shape,
});

const foundThread = threadEntry.extend({
  matched_email_id: text.meta({ description: 'The newest of its messages that match.' }),
});
const foundThreadPage = pageOf(foundThread).meta({ id: 'FoundThreadPage' });

export function searchThreads(stores: RouteStores): Documented<KeyedRoute> {
  // A search with a word reads up to 16 MiB of text. So the API does few at a time. A search writes no
  // delivery, so it has no limit of deliveries: null.
  const slots = new AccountSlots(COSTLY, null);
  return {
    scope: 'inbound:read',
    limited: true,
    method: 'get',
    path: '/v1/inboxes/:id/threads/search',
    docs: {
      operationId: 'searchThreads',
      summary: 'Find threads of an inbox by a message, that with the newest message first',
      description:
        `Looks at the newest ${LIMITS.searchedMessages} received and ${LIMITS.searchedMessages} sent messages of the time ` +
        'span. `end_date` leads to older ones. Upper and lower case are the same.',
      query: documentedQuery,
      success: { status: 200, body: foundThreadPage },
      paged: true,
      refusals: ['not-found', 'validation-failed'],
    },
    async handle(request) {
      const { query } = request;
      const inbox = await findInbox(stores, request);
      if (!inbox.ok) return inbox.answer;
      const parsed = parseQuery(query, parsedQuery);
      if (!parsed.ok) return parsed.refusal;
      const fault = faultOfLists(query);
      if (fault !== null) return invalid(fault);
      const { has_attachment: hasAttachment, start_date: since, end_date: until, ...rest } = parsed.fields;
      const search: ThreadSearch = { ...rest, hasAttachment, since, until, ...listsOf(query) };
      return inSlot(slots, request, () =>
        listAnswer(query, {
          noun: 'thread',
          read: async (page) => selectedIn(query, await stores.threads.search(inbox.value.id, search, page)),
          show: foundObject,
        }),
      );
    },
  };
}

function faultOfLists(query: URLSearchParams): string | null {
  for (const name of LISTS) {
    const words = listIn(query, name);
    if (words.length > LIMITS.searchAddresses)
      return `${name} has more than ${LIMITS.searchAddresses} entries.`;
    if (words.some(hasControlCharacter)) return `${name} contains a control character.`;
  }
  return null;
}

function listsOf(query: URLSearchParams): Pick<ThreadSearch, (typeof LISTS)[number]> {
  const entries = LISTS.map((name) => [name, listIn(query, name)] as const);
  return Object.fromEntries(entries.filter(([, words]) => words.length > 0));
}

function foundObject(thread: FoundThread): AnswerOf<typeof foundThread> {
  return { ...threadObject(thread), matched_email_id: thread.matchedEmailId };
}
