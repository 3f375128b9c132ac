import type { ProviderResult } from '@postrider/domain';
import type { MailProvider, MailTransport } from './mail-provider.ts';
import { createSandboxTransport } from './sandbox.ts';
import type { SesOptions } from './ses/options.ts';
import { createSmtpTransport } from './smtp.ts';
import { withoutSuppressed } from './suppressed.ts';

export interface MailProviderOptions {
  readonly provider: 'sandbox' | 'smtp' | 'ses';
  /** Required for `smtp`. */
  readonly smtpUrl?: string | undefined;
  /** `smtp`: a server on another machine may be spoken to without TLS. */
  readonly smtpAllowPlaintext?: boolean | undefined;
  /** Where `sandbox` keeps messages. */
  readonly sandboxDir: string;
  /** Required for `ses`. Everything else about AWS the SDK reads from its own variables and files. */
  readonly awsRegion?: string | undefined;
  /** `ses`: the configuration set that every message names; it decides what is reported, and to where. */
  readonly sesConfigurationSet?: string | undefined;
  /** Time limit of one hand-over. */
  readonly timeoutMs: number;
  /** Connections kept at most, by `smtp` and `ses`: as many as messages are handed over at once. */
  readonly connectionsMax?: number | undefined;
}

/** @throws Error when `smtp` has no URL or `ses` no region. Connects to nothing yet. */
export function createMailProvider(options: MailProviderOptions): MailProvider {
  return withoutSuppressed(createTransport(options));
}

function createTransport(options: MailProviderOptions): MailTransport {
  const { provider, sandboxDir, smtpUrl, awsRegion, sesConfigurationSet, timeoutMs, connectionsMax } =
    options;
  switch (provider) {
    case 'sandbox':
      return createSandboxTransport(sandboxDir);
    case 'smtp':
      if (smtpUrl === undefined) throw new Error('the mail provider smtp needs SMTP_URL');
      return createSmtpTransport({
        url: smtpUrl,
        allowPlaintext: options.smtpAllowPlaintext === true,
        timeoutMs,
        ...(connectionsMax === undefined ? {} : { connectionsMax }),
      });
    case 'ses':
      if (awsRegion === undefined) throw new Error('the mail provider ses needs AWS_REGION');
      return lazySesTransport({
        region: awsRegion,
        configurationSet: sesConfigurationSet,
        timeoutMs,
        connectionsMax,
      });
  }
}

/** Only a process that uses SES pays for the AWS SDK: it is imported here, at once, and by nobody else. */
function lazySesTransport(options: SesOptions): MailTransport {
  const loading = import('./ses/transport.ts').then(({ createSesTransport }) => createSesTransport(options));
  return {
    name: 'ses',
    send: async (message): Promise<ProviderResult> => (await loading).send(message),
    close: async () => (await loading).close(),
  };
}
