import { healthNotice, operatorEvent } from '@postrider/domain';
import type { Clock } from '@postrider/domain';
import type { ConfigurationOf, Logger } from '@postrider/runtime';
import { MAIL_PROVIDER_DEFAULT } from '@postrider/store';
import type { HealthNoticeStore, NoticeDue, SentNotice } from '@postrider/store';

export type HealthNoticesConfig = Pick<
  ConfigurationOf<'relay'>,
  | 'webhookFailingNoticeMinutes'
  | 'noticeMailFrom'
  | 'operatorWebhookUrl'
  | 'deadLetterRetentionDays'
  | 'deadLettersPerWebhookMax'
>;

export interface HealthNoticesParts {
  readonly store: Pick<HealthNoticeStore, 'notify'>;
  readonly config: HealthNoticesConfig;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Called when mail or events are queued. */
  readonly onNoticesMade: () => void;
}

/** A step locks these webhooks for about 10 ms. Changes of their health wait for it. */
const NOTICES_PER_STEP = 20;
const IDLE_PAUSE_MS = 5_000;
const BUSY_PAUSE_MS = 20;

/** The sandbox keeps its mail in a folder, so no recipient sees this address. */
const SANDBOX_FROM = 'Postrider <notices@postrider.example>';

/**
 * Queues the notices about webhooks that fail, or are well again. @returns the pause before the next run, in
 * milliseconds.
 */
export async function healthNoticesPass(parts: HealthNoticesParts): Promise<number> {
  const { store, config, clock, logger, onNoticesMade } = parts;
  const limits = { afterSeconds: config.webhookFailingNoticeMinutes * 60, rowsMax: NOTICES_PER_STEP };
  const retention = { days: config.deadLetterRetentionDays, perWebhookMax: config.deadLettersPerWebhookMax };
  const notices = await store.notify(limits, (due) => {
    const addressesOrReason = addressesOf(due, config);
    return {
      mail: typeof addressesOrReason === 'string' ? null : healthNotice(due, addressesOrReason, retention),
      event: config.operatorWebhookUrl === undefined ? null : operatorEvent(due, clock),
    };
  });
  for (const notice of notices) logNotice(notice, config, logger);
  if (notices.length > 0) onNoticesMade();
  return notices.length === NOTICES_PER_STEP ? BUSY_PAUSE_MS : IDLE_PAUSE_MS;
}

/** @returns the addresses of the mail, or the reason why no mail is sent. */
function addressesOf(
  { address, suppressed, mailProvider }: NoticeDue,
  { noticeMailFrom }: HealthNoticesConfig,
): string | { readonly from: string; readonly to: string } {
  if (address === null) return 'the account has no notice address';
  if (suppressed) return 'the notice address is suppressed';
  const isSandbox = (mailProvider ?? MAIL_PROVIDER_DEFAULT) === 'sandbox';
  const from = noticeMailFrom ?? (isSandbox ? SANDBOX_FROM : null);
  return from === null ? 'NOTICE_MAIL_FROM is not set' : { from, to: address };
}

function logNotice(
  { due, emailId, eventId }: SentNotice,
  config: HealthNoticesConfig,
  logger: HealthNoticesParts['logger'],
): void {
  const fields = {
    webhook_id: due.webhookId,
    account_id: due.accountId,
    state: due.failingSince === null ? 'recovered' : 'failing',
  };
  if (emailId !== null || eventId !== null) {
    logger.info('notice.queued', {
      ...fields,
      ...(emailId === null ? {} : { email_id: emailId }),
      ...(eventId === null ? {} : { operator_event_id: eventId }),
    });
  }
  const addressesOrReason = addressesOf(due, config);
  // An account may have no notice address: that is its choice, and no fault.
  if (typeof addressesOrReason === 'string' && due.address !== null) {
    logger.warn('notice.not_mailed', { ...fields, reason: addressesOrReason });
  }
}
