import type { TurnLength } from '@postrider/store';

/** Time for a turn's Postgres statements, beside the provider's operation. */
const DOMAIN_TURN_MARGIN_MS = 5_000;

/**
 * How long one turn may last. A process begins an operation only while the turn has time for the whole
 * operation. If the statements take longer than the margin, another process gets the turn.
 */
export function domainTurn(domainTimeoutMs: number): TurnLength {
  return { operationMs: domainTimeoutMs, marginMs: DOMAIN_TURN_MARGIN_MS };
}
