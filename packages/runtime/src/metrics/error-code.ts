const SYSTEM_CODES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
];
const SQLSTATES = [
  '57P01',
  '57P02',
  '57P03',
  '57014',
  '53100',
  '53200',
  '53300',
  '25006',
  '25P03',
  '55P03',
  '28P01',
  '28000',
  '3D000',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
];
const PRISMA_CODES = ['P1001', 'P1002', 'P1008', 'P1011', 'P1017', 'P2024', 'P2028'];

/** The usual results of `errorCode` when Postgres is away, stops, starts, is full or refuses a login. */
export const POSTGRES_CODES: readonly string[] = [...SYSTEM_CODES, ...SQLSTATES, ...PRISMA_CODES, 'other'];

/** An error may be its own cause, so the chain has a limit. */
const CAUSES_MAX = 8;

interface Coded {
  readonly code?: unknown;
  /** Prisma's own `code` says only that a statement failed. The SQLSTATE is in here. */
  readonly meta?: { readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: unknown } } };
}

/** The label of an error: its SQLSTATE or system code, or that of a cause. `other` when none has a code. */
export function errorCode(error: unknown): string {
  let current = error;
  for (let depth = 0; current instanceof Error && depth < CAUSES_MAX; depth += 1) {
    const { code: ownCode, meta } = current as Coded;
    const code = meta?.driverAdapterError?.cause?.originalCode ?? ownCode;
    if (typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code)) return code;
    current = current.cause;
  }
  return 'other';
}
