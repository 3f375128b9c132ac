import { parseDomainName } from '@postrider/domain';
import { z } from 'zod';
import type { SendingDomains } from '../../domains/sending-domains.ts';
import { parseFields, resourceFields } from '../../http/fields.ts';
import { domainsNotConfigured } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { domainObject } from './domain-object.ts';
import { outcomeAnswer } from './outcome-answer.ts';

const request = z.object({
  name: z.string({ error: 'is not a string' }).transform((text, context) => {
    const parsed = parseDomainName(text);
    if (parsed.ok) return parsed.name;
    context.addIssue(parsed.fault);
    return z.NEVER;
  }),
});

/** `POST /v1/domains`: answers the records to publish. @param domains null: this deployment has none. */
export function createDomain(domains: Pick<SendingDomains, 'create'> | null): Handle {
  return async ({ key, body }) => {
    const parsed = parseFields(body, request, ['name'], resourceFields);
    if (!parsed.ok) return parsed.refusal;
    if (domains === null) return domainsNotConfigured;
    const outcome = await domains.create(key.accountId, parsed.fields.name);
    return outcomeAnswer(outcome, (domain) => ({
      object: 'domain',
      ...domainObject(domain),
      records: domain.records,
    }));
  };
}
