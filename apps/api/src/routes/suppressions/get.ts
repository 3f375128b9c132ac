import type { SuppressionStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { suppressionKey } from './suppression-key.ts';
import { suppressionObject } from './suppression-object.ts';

/** `GET /v1/suppressions/{id or address}`. */
export function getSuppression(suppressions: Pick<SuppressionStore, 'find'>): Handle {
  return async ({ key, id }) => {
    const asked = suppressionKey(id);
    const found = asked === null ? null : await suppressions.find(key.accountId, asked);
    if (found === null) return noSuch('suppression');
    return json(200, { object: 'suppression', ...suppressionObject(found) });
  };
}
