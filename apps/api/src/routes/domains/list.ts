import type { DomainStore } from '@postrider/store';
import { listAnswer } from '../../http/list-answer.ts';
import type { Handle } from '../route.ts';
import { domainObject } from './domain-object.ts';

/** `GET /v1/domains`: the account's domains without their records, the newest first. */
export function listDomains(domains: Pick<DomainStore, 'list'>): Handle {
  return ({ key, query }) =>
    listAnswer(query, {
      noun: 'domain',
      read: (request) => domains.list(key.accountId, request),
      show: domainObject,
    });
}
