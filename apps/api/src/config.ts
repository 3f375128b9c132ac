import type { ProblemBases } from '@postrider/domain';
import type { ConfigurationOf } from '@postrider/runtime';

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
}

/** The wake-ups take one more. Each share has one connection at the least. */
export function connectionShares(poolSize: number, limiterIsInPostgres: boolean): ConnectionShares {
  const limiter = limiterIsInPostgres ? Math.max(1, Math.floor(poolSize / 4)) : 0;
  return { stores: Math.max(1, poolSize - limiter - 1), limiter };
}

/** Of a turn of work on a domain, what may pass beside the provider's operation: a few statements in Postgres. */
const DOMAIN_TURN_MARGIN_MS = 5_000;

/** How long one turn of work on a domain may last: a request that still worked after it would be in another's turn. */
export function domainTurnMs(domainTimeoutMs: number): number {
  return domainTimeoutMs + DOMAIN_TURN_MARGIN_MS;
}
