import type { AccountId } from '@postrider/domain';
import { createDomainProvider } from '@postrider/mail';
import type { DomainProvider } from '@postrider/mail';
import { setEnvironment, setup, startFakeSes } from '@postrider/testing';
import type { FakeSes } from '@postrider/testing';
import type { DomainRequest } from '../src/domains/sending-domains.ts';

/** The provider of domains under `MAIL_PROVIDER=ses`. Its SES accepts everything unless a test tells it otherwise. */
export interface FakeDomains {
  readonly provider: Omit<DomainProvider, 'close'>;
  readonly ses: FakeSes;
  /** For operations that begin later: true sets a short time limit, false the usual one. */
  setImpatient(isImpatient: boolean): void;
  stop(): Promise<void>;
}

/** The time limit of one operation. */
const TIMEOUT_MS = 20_000;
const SHORT_TIMEOUT_MS = 2_000;

/** Registers hooks that start a provider for the test file, and stop it at the end. */
export function setupFakeDomains(): FakeDomains {
  return setup(startFakeDomains, (domains) => domains.stop());
}

export async function startFakeDomains(): Promise<FakeDomains> {
  const ses = await startFakeSes();
  const restore = setEnvironment(ses.environment);
  const region = 'eu-central-1';
  const options = { region, configurationSet: 'events' };
  const usual = await createDomainProvider({ ...options, timeoutMs: TIMEOUT_MS });
  const impatient = await createDomainProvider({ ...options, timeoutMs: SHORT_TIMEOUT_MS });
  let current = usual;
  return {
    provider: {
      region,
      create: (request) => current.create(request),
      get: (domain) => current.get(domain),
      delete: (domain) => current.delete(domain),
    },
    ses,
    setImpatient(isImpatient) {
      current = isImpatient ? impatient : usual;
    },
    async stop() {
      usual.close();
      impatient.close();
      restore();
      await ses.close();
    },
  };
}

/** A request about domains whose key stays valid. */
export function requestBy(accountId: AccountId): DomainRequest {
  return { key: { accountId }, recheckKey: async () => null };
}
