import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@postrider/domain';
import { withCode } from '@postrider/mail';
import type { Logger } from '@postrider/runtime';
import type { DomainStore } from '@postrider/store';
import type { DomainOutcome, SendingDomains } from './sending-domains.ts';

export interface DomainClaimsOptions {
  readonly store: Pick<DomainStore, 'beginClaims' | 'expiredClaim' | 'releasedName'>;
  readonly domains: Pick<SendingDomains, 'expire' | 'finishRelease'>;
  /** How long a domain that was never verified keeps its name. */
  readonly claimDays: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between two passes; another one is for tests. */
  readonly intervalMs?: number;
}

/** Takes back names that their accounts never proved to own, and finishes what operators have released. */
export interface DomainClaims {
  start(): void;
  /** Waits for the call that is under way. */
  stop(): Promise<void>;
}

/** A pass asks the provider for one claim: SES answers a few such requests a second, for all accounts together. */
const INTERVAL_MS = 10_000;
/** Claims of an older release that a pass begins with one statement. */
const BEGUN_AT_ONCE = 100;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Each API process does it: of two that come to a name at once, one waits for the turn and then finds nothing to do. */
export function createDomainClaims(options: DomainClaimsOptions): DomainClaims {
  const { store, domains, claimDays, clock, logger, intervalMs = INTERVAL_MS } = options;
  const stopped = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function expireClaim(): Promise<void> {
    await store.beginClaims(BEGUN_AT_ONCE);
    const claim = await store.expiredClaim(new Date(clock.now().getTime() - claimDays * DAY_MS));
    if (claim === null || stopped.signal.aborted) return;
    const outcome = await domains.expire(claim);
    const fields = { domain_id: claim.id, account_id: claim.accountId };
    if (outcome.kind === 'ok' && outcome.value === 'expired') {
      logger.info('domain taken back: it was never verified', fields);
    } else tellFault(logger, outcome, fields);
  }

  async function finishRelease(): Promise<void> {
    const name = await store.releasedName();
    if (name !== null) tellFault(logger, await domains.finishRelease(name), { domain: name });
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      for (const pass of [expireClaim, finishRelease]) {
        await pass().catch((error: unknown) => logger.warn('names of domains not looked through', { error }));
      }
      await delay(intervalMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  }

  return {
    start() {
      running = run();
    },
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

/** Missing is no fault: somebody was faster. */
function tellFault(logger: Logger, outcome: DomainOutcome<unknown>, fields: object): void {
  if (outcome.kind === 'ok' || outcome.kind === 'missing') return;
  const detail = 'detail' in outcome ? withCode(outcome.detail, outcome.code) : outcome.kind;
  logger.warn('the provider did not judge a domain', { ...fields, detail });
}
