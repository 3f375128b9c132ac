import { createDomainProvider } from '@postrider/mail';
import type { DomainProvider } from '@postrider/mail';
import { setEnvironment, startFakeSes } from '@postrider/testing';
import type { FakeSes } from '@postrider/testing';

/** A provider of domains, as `MAIL_PROVIDER=ses` has it, whose SES says yes to everything, unless told otherwise. */
export interface FakeDomains {
  readonly provider: DomainProvider;
  readonly ses: FakeSes;
  stop(): Promise<void>;
}

/** In milliseconds, of one operation. */
const TIMEOUT_MS = 20_000;

export async function startFakeDomains(): Promise<FakeDomains> {
  const ses = await startFakeSes();
  const noSession = { AWS_SESSION_TOKEN: undefined, AWS_PROFILE: undefined };
  const restore = setEnvironment({ ...ses.environment, ...noSession });
  const provider = createDomainProvider({
    provider: 'ses',
    awsRegion: 'eu-central-1',
    timeoutMs: TIMEOUT_MS,
  });
  if (provider === null) throw new Error('ses has domains');
  return {
    provider,
    ses,
    async stop() {
      await provider.close();
      restore();
      await ses.close();
    },
  };
}
