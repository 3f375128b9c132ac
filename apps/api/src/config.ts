import type { ProblemBases } from '@postrider/domain';
import type { ConfigurationOf } from '@postrider/runtime';
import type { TurnLength } from '@postrider/store';

/** What the API reads from the environment; every variable is described in packages/runtime/src/config. */
export type ApiConfiguration = ConfigurationOf<'api'>;

export function problemBasesOf(config: ApiConfiguration): ProblemBases {
  return { service: config.problemsBase, platform: config.platformProblemsBase };
}

/** How the process shares out the connections that it may open to Postgres. */
export interface ConnectionShares {
  readonly stores: number;
  /** Of its own: a charge has 250 ms, and must not wait behind the statements of other requests. */
  readonly limiter: number;
  /** Authentication has its own connections. Account work cannot block it. */
  readonly keys: number;
}

/** The wake-ups take one more. Each share has one connection at the least. */
export function connectionShares(poolSize: number, limiterIsInPostgres: boolean): ConnectionShares {
  const limiter = limiterIsInPostgres ? Math.max(1, Math.floor(poolSize / 4)) : 0;
  const keys = Math.max(1, Math.floor(poolSize / 5));
  return { stores: Math.max(1, poolSize - limiter - keys - 1), limiter, keys };
}

/** Beside the provider's operation a turn of work on a domain has a few statements in Postgres. */
const DOMAIN_TURN_MARGIN_MS = 5_000;

/**
 * How long one turn of work on a domain may last. Statements may take longer than the margin, and the turn is another's then;
 * so an operation only begins while the turn has its whole time left.
 */
export function domainTurn(domainTimeoutMs: number): TurnLength {
  return { operationMs: domainTimeoutMs, marginMs: DOMAIN_TURN_MARGIN_MS };
}
