import type { UnsubscribeTarget, UnsubscribeTokens } from '@postrider/domain';
import type { TopicStore } from '@postrider/store';
import { htmlAnswer } from '../../http/answer.ts';
import type { Answer } from '../../http/answer.ts';
import { markup } from '../../http/markup.ts';
import { page } from '../../http/page.ts';
import { noSuch } from '../../problems/answers.ts';
import type { HandleKeyless } from '../route.ts';

/** What the button sends, so that a person is told from a mail program. */
export const FROM_PAGE = { name: 'source', value: 'page' } as const;

/**
 * `GET /u/{token}`: asks the person, and changes nothing: what follows links in mail is as often a scanner. The form
 * goes to where the page came from, whatever stands in front of this service.
 */
export function showUnsubscribe(
  topics: Pick<TopicStore, 'find'>,
  tokens: Pick<UnsubscribeTokens, 'open'>,
): HandleKeyless {
  return async ({ id: token }) => {
    const target = tokens.open(token);
    if (target === null) return noSuch('link');
    const topic = await topics.find(target.accountId, target.topicId);
    return question(target, topic?.name ?? null);
  };
}

function question({ address }: UnsubscribeTarget, topic: string | null): Answer {
  const what = topic === null ? 'mail of this kind' : markup`mail about <strong>${topic}</strong>`;
  const body = markup`<p>Shall ${address} get no more ${what}?</p>
<form method="post">
<input type="hidden" name="${FROM_PAGE.name}" value="${FROM_PAGE.value}">
<button>Unsubscribe</button>
</form>`;
  return htmlAnswer(page('Unsubscribe', body));
}
