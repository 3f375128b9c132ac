import type { UnsubscribeTokens } from '@postrider/domain';
import type { UnsubscribeStore } from '@postrider/store';
import { json, htmlAnswer } from '../../http/answer.ts';
import { markup } from '../../http/markup.ts';
import { page } from '../../http/page.ts';
import { noSuch } from '../../problems/answers.ts';
import type { HandleKeyless } from '../route.ts';
import { FROM_PAGE } from './page.ts';

const DONE = htmlAnswer(page('Unsubscribed', markup`<p>You will get no more of it.</p>`));

/**
 * `POST /u/{token}` (RFC 8058): unsubscribes at once, and again without harm. The token alone decides; a body that is
 * not the page's is a mail program's, in any of the forms that they send, or none.
 */
export function unsubscribe(
  unsubscribes: UnsubscribeStore,
  tokens: Pick<UnsubscribeTokens, 'open'>,
): HandleKeyless {
  return async ({ id: token, body }) => {
    const target = tokens.open(token);
    if (target === null) return noSuch('link');
    const form = new URLSearchParams(body.toString('utf8'));
    const isPage = form.get(FROM_PAGE.name) === FROM_PAGE.value;
    await unsubscribes.unsubscribe(target, isPage ? 'page' : 'one_click');
    return isPage ? DONE : json(200, { object: 'unsubscribe', unsubscribed: true });
  };
}
