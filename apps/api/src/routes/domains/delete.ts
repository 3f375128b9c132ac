import { parseId } from '@postrider/domain';
import type { SendingDomains } from '../../domains/sending-domains.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { outcomeAnswer } from './outcome-answer.ts';

/** `DELETE /v1/domains/{id}`: gone at the provider first, then here. */
export function deleteDomain(domains: Pick<SendingDomains, 'delete'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('domain', written);
    if (id === null) return noSuch('domain');
    const outcome = await domains.delete(key.accountId, id);
    return outcomeAnswer(outcome, () => ({ object: 'domain', id, deleted: true }));
  };
}
