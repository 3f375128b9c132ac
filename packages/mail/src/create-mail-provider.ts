import type { MailProvider } from './mail-provider.ts';
import { createSandboxProvider } from './sandbox.ts';
import { createSmtpProvider } from './smtp.ts';

export interface MailProviderOptions {
  readonly provider: 'sandbox' | 'smtp';
  /** Required for `smtp`. */
  readonly smtpUrl?: string | undefined;
  /** Where `sandbox` keeps messages. */
  readonly sandboxDir: string;
  /** Time limit of one hand-over. */
  readonly timeoutMs: number;
  /** Connections that `smtp` keeps at most: as many as messages are handed over at once. */
  readonly connectionsMax?: number | undefined;
}

/** @throws Error when `smtp` has no URL. Connects to nothing yet. */
export function createMailProvider(options: MailProviderOptions): MailProvider {
  if (options.provider === 'sandbox') return createSandboxProvider(options.sandboxDir);
  if (options.smtpUrl === undefined) throw new Error('the mail provider smtp needs SMTP_URL');
  return createSmtpProvider({
    url: options.smtpUrl,
    timeoutMs: options.timeoutMs,
    ...(options.connectionsMax === undefined ? {} : { connectionsMax: options.connectionsMax }),
  });
}
