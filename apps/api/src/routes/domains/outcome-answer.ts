import { json } from '../../http/answer.ts';
import type { Answer } from '../../http/answer.ts';
import type { DomainOutcome } from '../../domains/sending-domains.ts';
import {
  domainTaken,
  noSuch,
  providerNotAsked,
  providerUnavailable,
  refusedByProvider,
  tooManyDomains,
} from '../../problems/answers.ts';

/** @param body what a success says. */
export function outcomeAnswer<Value>(outcome: DomainOutcome<Value>, body: (value: Value) => object): Answer {
  switch (outcome.kind) {
    case 'ok':
      return json(200, body(outcome.value));
    case 'missing':
      return noSuch('domain');
    case 'taken':
      return domainTaken;
    case 'limit-reached':
      return tooManyDomains(outcome.limit, outcome.max);
    case 'refused':
      return refusedByProvider(outcome.detail);
    case 'unavailable':
      return providerUnavailable(outcome.detail);
    case 'not-asked':
      return providerNotAsked(outcome.detail);
  }
}
