import { MailProvider } from './mail-provider.ts';
import type { MailTransport } from './mail-provider.ts';
import { createSandboxTransport } from './sandbox.ts';
import { createSmtpTransport } from './smtp.ts';
import type { SmtpOptions } from './smtp.ts';

export interface MailProviderOptions {
  readonly provider: 'sandbox' | 'smtp' | 'ses';
  /** Required for `smtp`. */
  readonly smtp?: SmtpSettings | undefined;
  /** The folder in which `sandbox` stores messages. */
  readonly sandboxDir: string;
  /** Required for `ses`. The AWS SDK reads credentials and endpoint from its own variables and files. */
  readonly awsRegion?: string | undefined;
  /** The configuration set of every message to `ses`. It decides what SES reports, and to which SNS topic. */
  readonly sesConfigurationSet?: string | undefined;
  /** Limits one attempt of `ses`. With `smtp` it limits the time until the connection is open. */
  readonly timeoutMs: number;
  /** Connection limit of `smtp` and `ses`. It also limits the messages in flight. */
  readonly connectionsMax: number;
}

export interface SmtpSettings extends Omit<SmtpOptions, 'url' | 'timeoutMs' | 'connectionsMax'> {
  readonly url: string | undefined;
}

/** Opens no connection yet. @throws Error when `smtp` has no URL or `ses` has no region. */
export async function createMailProvider(options: MailProviderOptions): Promise<MailProvider> {
  return new MailProvider(await createTransport(options));
}

async function createTransport(options: MailProviderOptions): Promise<MailTransport> {
  const { provider, sandboxDir, smtp, awsRegion, sesConfigurationSet, timeoutMs, connectionsMax } = options;
  switch (provider) {
    case 'sandbox':
      return createSandboxTransport(sandboxDir);
    case 'smtp':
      if (smtp?.url === undefined) throw new Error('the mail provider smtp needs SMTP_URL');
      return createSmtpTransport({ ...smtp, url: smtp.url, timeoutMs, connectionsMax });
    case 'ses': {
      if (awsRegion === undefined) throw new Error('the mail provider ses needs AWS_REGION');
      // The AWS SDK is large. Only a process that uses SES imports it.
      const { createSesTransport } = await import('./ses/transport.ts');
      return createSesTransport({
        region: awsRegion,
        configurationSet: sesConfigurationSet,
        timeoutMs,
        connectionsMax,
      });
    }
  }
}
