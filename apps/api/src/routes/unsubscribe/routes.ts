import type { UnsubscribeTokens } from '@postrider/domain';
import type { TopicStore, UnsubscribeStore } from '@postrider/store';
import { resourceBody } from '../../http/body-rules.ts';
import type { Route } from '../route.ts';
import { showUnsubscribe } from './page.ts';
import { unsubscribe } from './unsubscribe.ts';

export interface UnsubscribeRouteParts {
  readonly topics: Pick<TopicStore, 'find'>;
  readonly unsubscribes: UnsubscribeStore;
}

/** For those whom mail was written to: they have a token in place of a key. */
export function unsubscribeRoutes(
  { topics, unsubscribes }: UnsubscribeRouteParts,
  tokens: Pick<UnsubscribeTokens, 'open'>,
): readonly Route[] {
  const keyless = { scope: null, path: '/u/:id' } as const;
  return [
    { ...keyless, method: 'get', body: 'ignored', handle: showUnsubscribe(topics, tokens) },
    { ...keyless, method: 'post', body: resourceBody, handle: unsubscribe(unsubscribes, tokens) },
  ];
}
