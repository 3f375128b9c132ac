import type { SuppressionStore } from '@postrider/store';
import { optionalBody, resourceBody } from '../../http/body-rules.ts';
import type { Route } from '../route.ts';
import { addSuppression, addSuppressions } from './add.ts';
import { getSuppression } from './get.ts';
import { listSuppressions } from './list.ts';
import { removeSuppression, removeSuppressions } from './remove.ts';

/** Not limited (contract 8, rule 3). The `:id` may be an address. */
export function suppressionRoutes(suppressions: SuppressionStore): readonly Route[] {
  const manage = { scope: 'suppressions:manage', limited: false } as const;
  const read = { ...manage, body: resourceBody } as const;
  const all = '/v1/suppressions';
  return [
    { ...read, method: 'post', path: all, handle: addSuppression(suppressions) },
    { ...read, method: 'post', path: `${all}/batch/add`, handle: addSuppressions(suppressions) },
    { ...read, method: 'post', path: `${all}/batch/remove`, handle: removeSuppressions(suppressions) },
    { ...manage, method: 'get', path: all, body: 'ignored', handle: listSuppressions(suppressions) },
    { ...manage, method: 'get', path: `${all}/:id`, body: 'ignored', handle: getSuppression(suppressions) },
    {
      ...manage,
      method: 'delete',
      path: `${all}/:id`,
      body: optionalBody,
      handle: removeSuppression(suppressions),
    },
  ];
}
