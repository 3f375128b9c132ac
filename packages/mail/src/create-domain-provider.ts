import type { DomainProvider } from './domain-provider.ts';

interface DomainProviderOptions {
  readonly provider: 'sandbox' | 'smtp' | 'ses';
  /** Required for `ses`. */
  readonly awsRegion?: string | undefined;
  /** Limits one operation. */
  readonly timeoutMs: number;
}

/**
 * Opens no connection yet.
 *
 * @returns null for `sandbox` and `smtp`, which have no domains.
 * @throws Error when `ses` has no region.
 */
export function createDomainProvider(options: DomainProviderOptions): DomainProvider | null {
  const { provider, awsRegion, timeoutMs } = options;
  if (provider !== 'ses') return null;
  if (awsRegion === undefined) throw new Error('the mail provider ses needs AWS_REGION');
  const loading = import('./ses/domains.ts').then(({ createSesDomains }) =>
    createSesDomains({ region: awsRegion, timeoutMs }),
  );
  return {
    region: awsRegion,
    create: async (request) => (await loading).create(request),
    get: async (domain) => (await loading).get(domain),
    delete: async (domain) => (await loading).delete(domain),
    close: async () => (await loading).close(),
  };
}
