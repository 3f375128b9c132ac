import { parseId } from '@postrider/domain';
import type { SendingDomains } from '../../domains/sending-domains.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { outcomeAnswer } from './outcome-answer.ts';

/** `POST /v1/domains/{id}/verify`: asks the provider at once; what it said is in the domain then. */
export function verifyDomain(domains: Pick<SendingDomains, 'verify'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('domain', written);
    if (id === null) return noSuch('domain');
    return outcomeAnswer(await domains.verify(key.accountId, id), () => ({ object: 'domain', id }));
  };
}
