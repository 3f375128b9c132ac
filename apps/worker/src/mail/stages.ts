import { createUnsubscribeTokens, retrySchedule, THROTTLED_DELAY_MS } from '@postrider/domain';
import { pause, Semaphore } from '@postrider/limits';
import { createMailProvider } from '@postrider/mail';
import type { MailProviderOptions } from '@postrider/mail';
import { systemClock } from '@postrider/runtime';
import type { Shell } from '@postrider/runtime';
import { createMailWork } from '@postrider/store';
import type { Database } from '@postrider/store';
import { MailBatches } from './batches.ts';
import { outgoingMessage } from './send.ts';
import type { MailStages } from './send.ts';
import { createUnsubscribeUrls } from './unsubscribe-url.ts';

export interface MailParts extends Shell<'worker'> {
  readonly database: Database;
  /** The provider that the installation uses. */
  readonly mailProvider: MailProviderOptions['provider'];
  /** Aborted when the worker stops: a message that waits for a slot is released, and no slot rests. */
  readonly stopped: AbortSignal;
}

/** Time to record the outcome, after the provider's own time limit. */
const LEASE_MARGIN_SECONDS = 15;

/** Builds the stages of mail, and adds the provider to the stop list. */
export async function addMailStages(parts: MailParts): Promise<MailStages> {
  const { config, lifecycle, logger, metrics, database, mailProvider, stopped } = parts;
  const provider = await createMailProvider({
    provider: mailProvider,
    connectionsMax: config.mailConcurrency,
    smtp: {
      url: config.smtpUrl,
      allowPlaintext: config.smtpAllowPlaintext,
      replyTimeoutMs: config.smtpReplyTimeoutMs,
      finalReplyTimeoutMs: config.smtpFinalReplyTimeoutMs,
    },
    sandboxDir: config.sandboxDir,
    awsRegion: config.awsRegion,
    sesConfigurationSet: config.sesConfigurationSet,
    timeoutMs: config.mailTimeoutMs,
  });
  lifecycle.add('mail provider client', { stop: async () => provider.close() });
  const unsubscribeUrlOf = createUnsubscribeUrls({
    publicUrl: config.publicUrl,
    tokens: createUnsubscribeTokens(config.secretsKey),
  });
  const leaseSeconds = Math.ceil(config.mailTimeoutMs / 1000) + LEASE_MARGIN_SECONDS;
  const store = createMailWork(database, systemClock, { verifiedDomainsOnly: mailProvider === 'ses' });
  return {
    batches: new MailBatches(store, { leaseSeconds, logger }),
    providerSlots: new Semaphore(config.mailConcurrency, stopped),
    send: (email) => provider.send(outgoingMessage(email, unsubscribeUrlOf(email))),
    restThrottledSlot: () => restOf(THROTTLED_DELAY_MS, stopped),
    schedule: retrySchedule(config.mailRetryDelaysSeconds),
    leaseSeconds,
    logger,
    metrics,
  };
}

/**
 * Waits between half and three halves of `ms`, at random, or until the stop. Slots that were throttled
 * together must not ask together again.
 */
export async function restOf(ms: number, stopped: AbortSignal): Promise<void> {
  await pause(ms * (0.5 + Math.random()), stopped);
}
