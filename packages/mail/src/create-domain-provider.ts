import type { DomainProvider } from './domain-provider.ts';
import type { SesDomainOptions } from './ses/domains.ts';

/** Imports the AWS SDK, so only a process that uses SES pays for it. Opens no connection yet. */
export async function createDomainProvider(options: SesDomainOptions): Promise<DomainProvider> {
  const { createSesDomains } = await import('./ses/domains.ts');
  return createSesDomains(options);
}
