import type { UnsubscribeTarget, UnsubscribeTokens } from '@postrider/domain';
import type { TopicStore, UnsubscribeStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import type { Answer } from '../http/answer.ts';
import { resourceBody } from '../http/body-rules.ts';
import { markup } from '../http/markup.ts';
import { page } from '../http/page.ts';
import { noSuch } from '../problems/answers.ts';
import type { Documented, KeylessRoute } from './route.ts';
import type { AnswerOf } from './schemas.ts';

/** Recipients of mail have no API key. The token in the path takes its place. */
export function unsubscribeRoutes(
  topics: TopicStore,
  unsubscribes: UnsubscribeStore,
  tokens: Pick<UnsubscribeTokens, 'open'>,
): readonly Documented[] {
  return [showUnsubscribe(topics, tokens), unsubscribe(unsubscribes, tokens)];
}

/** The hidden field of the page's form. The POST of a mail program does not have it. */
const FROM_PAGE = { name: 'source', value: 'page' } as const;

/**
 * Shows a page that asks the person, and changes nothing: scanners follow the links in mail too. The form has
 * no address, so a browser sends it to the URL of the page, whatever proxy stands before this service.
 */
function showUnsubscribe(
  topics: TopicStore,
  tokens: Pick<UnsubscribeTokens, 'open'>,
): Documented<KeylessRoute> {
  return {
    method: 'get',
    path: '/u/:id',
    scope: null,
    slotPerClient: true,
    docs: {
      operationId: 'showUnsubscribe',
      summary: 'For recipients: a page to confirm on; changes nothing',
      success: { status: 200, body: 'html' },
      refusals: ['not-found'],
    },
    async handle({ id: token }) {
      const target = tokens.open(token);
      if (target === null) return noSuch('link');
      const topic = await topics.find(target.accountId, target.topicId);
      return question(target, topic?.name ?? null);
    },
  };
}

function question({ address }: UnsubscribeTarget, topic: string | null): Answer {
  const what = topic === null ? 'mail of this kind' : markup`mail about <strong>${topic}</strong>`;
  const body = markup`<p>Shall ${address} get no more ${what}?</p>
<form method="post">
<input type="hidden" name="${FROM_PAGE.name}" value="${FROM_PAGE.value}">
<button>Unsubscribe</button>
</form>`;
  return { kind: 'html', html: page('Unsubscribe', body) };
}

const DONE: Answer = {
  kind: 'html',
  html: page('Unsubscribed', markup`<p>You will get no more of it.</p>`),
};

const unsubscribeRequest = z
  .object({})
  .meta({ id: 'UnsubscribeRequest', description: 'As RFC 8058 has it, or nothing.' });

const unsubscribed = z
  .object({ object: z.literal('unsubscribe'), unsubscribed: z.literal(true) })
  .meta({ id: 'Unsubscribed' });

/**
 * RFC 8058. Unsubscribes at once; a repetition changes nothing. Mail programs send several kinds of bodies,
 * or none. The handler reads the body only to recognise the page's form.
 */
function unsubscribe(
  unsubscribes: UnsubscribeStore,
  tokens: Pick<UnsubscribeTokens, 'open'>,
): Documented<KeylessRoute> {
  return {
    method: 'post',
    path: '/u/:id',
    scope: null,
    slotPerClient: true,
    body: resourceBody,
    docs: {
      operationId: 'unsubscribe',
      summary: 'For recipients: unsubscribe (RFC 8058)',
      description: 'The form of the page gets a page for an answer, a mail program JSON.',
      request: unsubscribeRequest,
      requestMedia: {
        types: ['application/x-www-form-urlencoded', 'multipart/form-data'],
        optional: true,
        words: 'of any kind, or none: the token alone decides',
      },
      success: { status: 200, body: unsubscribed, orHtml: true },
      refusals: ['not-found', '400 text'],
    },
    async handle({ id: token, body }) {
      const target = tokens.open(token);
      if (target === null) return noSuch('link');
      const form = new URLSearchParams(body.toString('utf8'));
      const isPage = form.get(FROM_PAGE.name) === FROM_PAGE.value;
      await unsubscribes.unsubscribe(target, isPage ? 'page' : 'one_click');
      if (isPage) return DONE;
      return json<AnswerOf<typeof unsubscribed>>(200, { object: 'unsubscribe', unsubscribed: true });
    },
  };
}
