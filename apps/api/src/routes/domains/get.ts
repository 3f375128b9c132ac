import { parseId } from '@postrider/domain';
import type { DomainStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { domainObject } from './domain-object.ts';

/** `GET /v1/domains/{id}`: what the provider said when it was last asked. */
export function getDomain(domains: Pick<DomainStore, 'find'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('domain', written);
    const domain = id === null ? null : await domains.find(key.accountId, id);
    if (domain === null) return noSuch('domain');
    return json(200, { object: 'domain', ...domainObject(domain), records: domain.records });
  };
}
