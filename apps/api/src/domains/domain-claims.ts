import { withCode } from '@postrider/mail';
import { periodicTask } from '@postrider/runtime';
import type { Logger, PeriodicTask } from '@postrider/runtime';
import type { DomainStore } from '@postrider/store';
import type { DomainOutcome, SendingDomains } from './sending-domains.ts';

export interface DomainClaimsOptions {
  readonly store: Pick<DomainStore, 'beginClaims' | 'expiredClaim' | 'releasedName'>;
  readonly domains: Pick<SendingDomains, 'expire' | 'finishRelease'>;
  /** A domain that was never verified keeps its name for this many days. */
  readonly claimDays: number;
  readonly logger: Logger;
  /** The pause between two passes. Only tests set it. */
  readonly intervalMs?: number;
}

/**
 * A pass asks the provider about one claim and one released name. SES answers a few such requests per second,
 * for all accounts together.
 */
const INTERVAL_MS = 10_000;
/** Domains of an older release have no claim yet. One statement begins this many claims. */
const CLAIMS_BEGUN_PER_PASS = 100;

/**
 * Removes domains that their accounts never verified, and deletes at the provider the names that operators
 * released. Every API process runs this. If two processes pick one name, the second waits and finds it done.
 */
export function domainClaimsTask(options: DomainClaimsOptions): PeriodicTask {
  const { store, domains, claimDays, logger, intervalMs = INTERVAL_MS } = options;
  const onError = (error: unknown) => logger.warn('names of domains not looked through', { error });
  const task = periodicTask({
    async run() {
      await expireClaim().catch(onError);
      await finishRelease();
    },
    pauseMs: intervalMs,
    onError,
  });

  async function expireClaim(): Promise<void> {
    await store.beginClaims(CLAIMS_BEGUN_PER_PASS);
    const claim = await store.expiredClaim(claimDays);
    if (claim === null || task.stopping.aborted) return;
    const outcome = await domains.expire(claim);
    const fields = { domain_id: claim.id, account_id: claim.accountId };
    if (outcome.kind === 'ok' && outcome.value === 'expired') {
      logger.info('domain taken back: it was never verified', fields);
    } else logFault(logger, outcome, fields);
  }

  async function finishRelease(): Promise<void> {
    const name = await store.releasedName();
    if (name !== null) logFault(logger, await domains.finishRelease(name), { domain: name });
  }

  return task;
}

/** `missing` is not a fault: another process was faster. */
function logFault(logger: Logger, outcome: DomainOutcome<unknown>, fields: object): void {
  if (outcome.kind === 'ok' || outcome.kind === 'missing') return;
  const detail = 'detail' in outcome ? withCode(outcome.detail, outcome.code) : outcome.kind;
  logger.warn(messageFor(outcome), { ...fields, detail });
}

function messageFor(outcome: DomainOutcome<unknown>): string {
  if ('duringDeletion' in outcome) return 'the provider did not delete a domain';
  if (outcome.kind === 'not-asked') return 'the provider was not asked about a domain';
  return 'the provider did not judge a domain';
}
