import type { SendOutcome } from '@postrider/store';
import type { Answer } from '../../http/answer.ts';
import {
  domainNotVerified,
  idempotencyConflict,
  inboxOverLimit,
  threadOverLimit,
} from '../../problems/answers.ts';

/** Why nothing was stored, where every route that sends says the same. */
type Refused = Extract<
  SendOutcome,
  { readonly kind: 'conflict' | 'unverified-domains' | 'inbox-over-limit' | 'thread-over-limit' }
>;

export function sendRefusal(outcome: Refused): Answer {
  switch (outcome.kind) {
    case 'conflict':
      return idempotencyConflict(outcome.why);
    case 'unverified-domains':
      return domainNotVerified(outcome.names);
    case 'inbox-over-limit':
      return inboxOverLimit;
    case 'thread-over-limit':
      return threadOverLimit;
  }
}
