import type { ProviderResult } from '@postrider/domain';
import type { SMTPServerOptions } from 'smtp-server';
import { cleanUpAfterEach } from '@postrider/testing';
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
  const atEnd = cleanUpAfterEach();

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
      atEnd(() => provider.close());
      return provider;
    },
    mailServer: async (options: SMTPServerOptions = {}): Promise<MailServer> => {
      const server = await startMailServer(options);
      atEnd(() => server.close());
      return server;
    },
    rawServer: async (...script: Parameters<typeof startRawServer>): Promise<RawServer> => {
      const server = await startRawServer(...script);
      atEnd(() => server.close());
      return server;
    },
    atEnd,
  };
}
