import type { ProblemBases } from '@postrider/domain';
import type { ConfigurationOf } from '@postrider/runtime';
import type { TurnLength } from '@postrider/store';

/** The settings of the API. packages/runtime/src/config describes each variable. */
export type ApiConfiguration = ConfigurationOf<'api'>;

export function problemBasesOf(config: ApiConfiguration): ProblemBases {
  return { service: config.problemsBase, platform: config.platformProblemsBase };
}

/** How the API divides its Postgres connections. */
export interface ConnectionShares {
  readonly stores: number;
  /** A charge has 250 ms. Its own connections keep it from waiting behind the statements of requests. */
  readonly limiter: number;
  /** Authentication has its own connections, so the work of accounts cannot block it. */
  readonly keys: number;
}

/** The wake-ups use one more connection. Each share has at least one connection. */
export function connectionShares(poolSize: number, limiterIsInPostgres: boolean): ConnectionShares {
  const limiter = limiterIsInPostgres ? Math.max(1, Math.floor(poolSize / 4)) : 0;
  const keys = Math.max(1, Math.floor(poolSize / 5));
  return { stores: Math.max(1, poolSize - limiter - keys - 1), limiter, keys };
}

/** Time for a turn's Postgres statements, beside the provider's operation. */
const DOMAIN_TURN_MARGIN_MS = 5_000;

/**
 * How long one turn of work on a domain may last. Statements that exceed the margin lose the turn to another
 * process. So an operation begins only while the turn still has the operation's whole time.
 */
export function domainTurn(domainTimeoutMs: number): TurnLength {
  return { operationMs: domainTimeoutMs, marginMs: DOMAIN_TURN_MARGIN_MS };
}
