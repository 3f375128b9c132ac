import { afterEach } from '@jest/globals';
import type { ProviderResult } from '@postrider/domain';
import type { SMTPServerOptions } from 'smtp-server';
import type { MailTransport } from '../src/mail-provider.ts';
import { createSmtpTransport } from '../src/smtp.ts';
import { startMailServer, startRawServer } from './mail-server.ts';
import type { MailServer, RawServer } from './mail-server.ts';

/** Longer than any exchange of a test. */
export const LONG_MS = 20_000;

export const ACCEPTED: ProviderResult = {
  kind: 'accepted',
  providerMessageId: null,
  notifications: [],
  deferred: [],
};

/** SMTP servers and clients. After each test it closes everything that it opened, in reverse order. */
export function useSmtp() {
  const cleanups: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  return {
    /** @param timeoutMs limits each step; `finalReplyTimeoutMs` limits the wait after the final dot. */
    provide: (
      url: string,
      timeoutMs = LONG_MS,
      connectionsMax = 4,
      finalReplyTimeoutMs = LONG_MS,
    ): MailTransport => {
      const limits = { timeoutMs, replyTimeoutMs: timeoutMs, finalReplyTimeoutMs };
      const provider = createSmtpTransport({ url, connectionsMax, ...limits });
      cleanups.push(() => provider.close());
      return provider;
    },
    mailServer: async (options: SMTPServerOptions = {}): Promise<MailServer> => {
      const server = await startMailServer(options);
      cleanups.push(() => server.close());
      return server;
    },
    rawServer: async (...script: Parameters<typeof startRawServer>): Promise<RawServer> => {
      const server = await startRawServer(...script);
      cleanups.push(() => server.close());
      return server;
    },
    atEnd: (cleanup: () => Promise<void> | void): void => void cleanups.push(cleanup),
  };
}
