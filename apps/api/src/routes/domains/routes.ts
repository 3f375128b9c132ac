import type { DomainStore } from '@postrider/store';
import type { SendingDomains } from '../../domains/sending-domains.ts';
import { resourceBody } from '../../http/body-rules.ts';
import { domainsNotConfigured } from '../../problems/answers.ts';
import type { Handle, Route } from '../route.ts';
import { createDomain } from './create.ts';
import { deleteDomain } from './delete.ts';
import { getDomain } from './get.ts';
import { listDomains } from './list.ts';
import { verifyDomain } from './verify.ts';

const notConfigured: Handle = async () => domainsNotConfigured;

/** @param domains null where the mail provider has none: every route then says so. */
export function domainRoutes(store: DomainStore, domains: SendingDomains | null): readonly Route[] {
  const manage = { scope: 'domains:manage', limited: true } as const;
  const unread = { ...manage, body: 'ignored' } as const;
  const one = '/v1/domains/:id';
  return [
    { ...manage, method: 'post', path: '/v1/domains', body: resourceBody, handle: createDomain(domains) },
    {
      ...unread,
      method: 'get',
      path: '/v1/domains',
      handle: domains === null ? notConfigured : listDomains(store),
    },
    { ...unread, method: 'get', path: one, handle: domains === null ? notConfigured : getDomain(store) },
    {
      ...unread,
      method: 'post',
      path: `${one}/verify`,
      handle: domains === null ? notConfigured : verifyDomain(domains),
    },
    {
      ...unread,
      method: 'delete',
      path: one,
      handle: domains === null ? notConfigured : deleteDomain(domains),
    },
  ];
}
