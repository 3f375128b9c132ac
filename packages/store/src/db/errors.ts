/**
 * Postgres cannot be reached, refuses the login, is starting or stopping, or did not answer in time. Retrying
 * later may help.
 */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError';

  /** @param cause what was thrown, or the reason in words */
  constructor(cause: unknown) {
    super(typeof cause === 'string' ? cause : `${unavailableInWords(cause)}: ${messageOf(cause)}`, { cause });
  }
}

/** A lock was not free within `lock_timeout`, or at once (`nowait`). Postgres works. Retrying may help. */
export class LockConflictError extends StoreUnavailableError {
  override readonly name = 'LockConflictError';
}

/** SQLSTATE lock_not_available. */
const LOCK_NOT_AVAILABLE = '55P03';
/** SQLSTATE query_canceled: mostly by `statement_timeout`, for example behind a lock. */
const QUERY_CANCELED = '57014';

/**
 * SQLSTATE classes and codes of faults of the server, not of the statement. These lists are for errors of an
 * open session. `SessionClient` and `prepareSession` map every error of opening one.
 */
const UNAVAILABLE_SQLSTATES = [
  /^08/, // connection exceptions
  /^53/, // insufficient resources: too many connections, disk full
  /^57/, // operator intervention: shutdown, crash recovery, statement timeout, cancellation
  /^58/, // faults around the server: input and output
  /^25P03$/, // idle in transaction timeout
  /^25006$/, // read-only: a failover is under way
  new RegExp(`^${LOCK_NOT_AVAILABLE}$`),
];
const UNAVAILABLE_CODES = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // Prisma: timed out, server closed the connection, transaction could not start or expired
  'P1002',
  'P1008',
  'P1011',
  'P1017',
  'P2024',
  'P2028',
  'P2037',
]);
/** Names of the same faults in Prisma's driver. For a raw statement it keeps only these. */
const UNAVAILABLE_KINDS = new Set(['ConnectionClosed', 'SocketTimeout', 'TooManyConnections']);
const UNAVAILABLE_MESSAGES = [
  'Connection terminated', // pg, without a code
  'connection timeout', // pg-pool: no connection became free
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed',
  'Cannot use a pool after calling end',
];

/** True when an error of pg or Prisma means that Postgres served no client, or that a lock was taken. */
export function isUnavailable(error: unknown): boolean {
  return faultsIn(error).some((fault) => fault instanceof StoreUnavailableError || isServerFault(fault));
}

/** True when Postgres served no client. A lock or a cancelled statement concerns one statement. */
export function isOutage(error: unknown): boolean {
  return isUnavailable(error) && !hasCode(error, LOCK_NOT_AVAILABLE) && !hasCode(error, QUERY_CANCELED);
}

/**
 * Runs `work`. An error that means Postgres is unavailable becomes a StoreUnavailableError, that of a lock
 * conflict a LockConflictError. Other errors pass.
 */
export async function mappingUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreUnavailableError || !isUnavailable(error)) throw error;
    throw hasCode(error, LOCK_NOT_AVAILABLE)
      ? new LockConflictError(error)
      : new StoreUnavailableError(error);
  }
}

/** Describes an error for which `isUnavailable` is true. Postgres itself may work. */
export function unavailableInWords(error: unknown): string {
  if (error instanceof StoreUnavailableError && typeof error.cause === 'string') return error.cause;
  if (hasCode(error, LOCK_NOT_AVAILABLE)) return 'another session holds a lock';
  return hasCode(error, QUERY_CANCELED) ? 'Postgres cancelled a statement' : 'Postgres is not available';
}

function hasCode(error: unknown, code: string): boolean {
  return faultsIn(error).some((fault) => codesOf(fault).includes(code));
}

/** The error, its causes, and the errors of an aggregate. The limit ends a cycle of causes. */
function faultsIn(error: unknown): Record<string, unknown>[] {
  const faults: Record<string, unknown>[] = [];
  for (let current = error; isRecord(current) && faults.length < 8;) {
    faults.push(current);
    if (current instanceof AggregateError) faults.push(...current.errors.flatMap(faultsIn));
    current = current['cause'] ?? driverErrorOf(current);
  }
  return faults;
}

function isServerFault(error: Record<string, unknown>): boolean {
  if (
    codesOf(error).some(
      (code) => UNAVAILABLE_CODES.has(code) || UNAVAILABLE_SQLSTATES.some((state) => state.test(code)),
    )
  ) {
    return true;
  }
  const { message, kind } = error;
  if (typeof kind === 'string' && UNAVAILABLE_KINDS.has(kind)) return true;
  return typeof message === 'string' && UNAVAILABLE_MESSAGES.some((part) => message.includes(part));
}

function codesOf(error: Record<string, unknown>): string[] {
  return [error['code'], error['originalCode']].filter((code) => typeof code === 'string');
}

/** Prisma keeps the driver's error in `meta.driverAdapterError`. That error has a cause of its own. */
function driverErrorOf(error: Record<string, unknown>): unknown {
  return isRecord(error['meta']) ? error['meta']['driverAdapterError'] : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** The message of what was thrown. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** What was thrown, as an Error. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
