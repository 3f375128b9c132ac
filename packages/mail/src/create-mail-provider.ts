import type { ProviderResult } from '@postrider/domain';
import { MailProvider } from './mail-provider.ts';
import type { MailTransport } from './mail-provider.ts';
import { createSandboxTransport } from './sandbox.ts';
import type { SesOptions } from './ses/client.ts';
import { createSmtpTransport } from './smtp.ts';
import type { SmtpOptions } from './smtp.ts';

export interface MailProviderOptions {
  readonly provider: 'sandbox' | 'smtp' | 'ses';
  /** Required for `smtp`. */
  readonly smtp?: SmtpSettings | undefined;
  /** The folder in which `sandbox` stores messages. */
  readonly sandboxDir: string;
  /** Required for `ses`. The SDK reads its other settings from its own variables and files. */
  readonly awsRegion?: string | undefined;
  /** The configuration set of every message to `ses`. It decides what SES reports, and to which topic. */
  readonly sesConfigurationSet?: string | undefined;
  /** Limits one attempt of `ses`. With `smtp` it limits the time until the connection is open. */
  readonly timeoutMs: number;
  /** Connection limit of `smtp` and `ses`. It also limits the messages in flight. */
  readonly connectionsMax?: number | undefined;
}

export interface SmtpSettings extends Omit<SmtpOptions, 'url' | 'timeoutMs' | 'connectionsMax'> {
  readonly url: string | undefined;
}

/** Opens no connection yet. @throws Error when `smtp` has no URL or `ses` has no region. */
export function createMailProvider(options: MailProviderOptions): MailProvider {
  return new MailProvider(createTransport(options));
}

function createTransport(options: MailProviderOptions): MailTransport {
  const { provider, sandboxDir, smtp, awsRegion, sesConfigurationSet, timeoutMs, connectionsMax } = options;
  switch (provider) {
    case 'sandbox':
      return createSandboxTransport(sandboxDir);
    case 'smtp':
      if (smtp?.url === undefined) throw new Error('the mail provider smtp needs SMTP_URL');
      return createSmtpTransport({ ...smtp, url: smtp.url, timeoutMs, connectionsMax });
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

/** Imports the AWS SDK, in the background. Only a process that uses SES pays for it. */
function lazySesTransport(options: SesOptions): MailTransport {
  const loading = import('./ses/transport.ts').then(({ createSesTransport }) => createSesTransport(options));
  return {
    name: 'ses',
    send: async (message): Promise<ProviderResult> => (await loading).send(message),
    close: async () => (await loading).close(),
  };
}
