import type { SuppressionOrigin, SuppressionStore } from '@postrider/store';
import { listAnswer } from '../../http/list-answer.ts';
import { invalid } from '../../problems/answers.ts';
import { quoted } from '../../problems/quoted.ts';
import type { Handle } from '../route.ts';
import { suppressionObject } from './suppression-object.ts';

const ORIGINS: readonly SuppressionOrigin[] = ['bounce', 'complaint', 'manual', 'unsubscribe'];

/** `GET /v1/suppressions`: the newest first; `origin` chooses. */
export function listSuppressions(suppressions: Pick<SuppressionStore, 'list'>): Handle {
  return async ({ key, query }) => {
    const written = query.getAll('origin');
    const origin = ORIGINS.find((each) => each === written[0]) ?? null;
    if (written.length > 1 || (written.length === 1 && origin === null)) {
      return invalid(`origin ${quoted(written.join())} is not one of ${ORIGINS.join(', ')}.`, 400);
    }
    return listAnswer(query, {
      noun: 'suppression',
      read: (request) => suppressions.list(key.accountId, request, origin),
      show: suppressionObject,
      refusalStatus: 400,
    });
  };
}
