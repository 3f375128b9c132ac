import type { AccountId } from '@postrider/domain';
import { createDomainProvider } from '@postrider/mail';
import type { DomainProvider } from '@postrider/mail';
import { setEnvironment, setup, startFakeSes } from '@postrider/testing';
import type { FakeSes } from '@postrider/testing';
import type { DomainRequest } from '../src/domains/sending-domains.ts';

/** The provider of domains under `MAIL_PROVIDER=ses`. Its SES accepts everything unless a test tells it otherwise. */
export interface FakeDomains {
  readonly provider: DomainProvider;
  readonly ses: FakeSes;
  stop(): Promise<void>;
}

/** The time limit of one operation. */
const TIMEOUT_MS = 20_000;

/** Registers hooks that start a provider for the test file, and stop it at the end. */
export function setupFakeDomains(timeoutMs?: number): FakeDomains {
  return setup(
    () => startFakeDomains(timeoutMs),
    (domains) => domains.stop(),
  );
}

export async function startFakeDomains(timeoutMs = TIMEOUT_MS): Promise<FakeDomains> {
  const ses = await startFakeSes();
  const restore = setEnvironment(ses.environment);
  const provider = await createDomainProvider({ region: 'eu-central-1', timeoutMs });
  return {
    provider,
    ses,
    async stop() {
      provider.close();
      restore();
      await ses.close();
    },
  };
}

/** A request about domains whose key stays valid. */
export function requestBy(accountId: AccountId): DomainRequest {
  return { key: { accountId }, recheckKey: async () => null };
}
