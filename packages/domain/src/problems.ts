/** Which base a problem's type URI stands under (contract 7.1). */
export type ProblemFamily = 'service' | 'platform';

interface ProblemDefinition {
  readonly status: number;
  /** On routes that answer it otherwise (contract 7.2). */
  readonly alsoStatus?: number;
  readonly title: string;
  readonly family: ProblemFamily;
}

/** The one catalogue of problem documents this version answers with (contract 7.2). Key = slug. */
export const PROBLEMS = {
  'api-key-unauthorized': { status: 401, title: 'API key missing or not valid', family: 'platform' },
  'api-key-forbidden': { status: 403, title: 'API key lacks the required scope', family: 'platform' },
  'domain-not-verified': { status: 403, title: 'Domain not verified', family: 'service' },
  'not-found': { status: 404, title: 'Not found', family: 'platform' },
  'idempotency-conflict': { status: 409, title: 'Idempotency key in conflict', family: 'service' },
  'domain-taken': { status: 409, title: 'Domain already added', family: 'service' },
  'request-too-large': { status: 413, title: 'Request too large', family: 'service' },
  'validation-failed': {
    status: 422,
    /** suppressions and topics */
    alsoStatus: 400,
    title: 'Validation failed',
    family: 'service',
  },
  'rate-limited': { status: 429, title: 'Rate limit exceeded', family: 'platform' },
  internal: { status: 500, title: 'Internal error', family: 'platform' },
  'ses-refused': { status: 502, title: 'Refused by the provider', family: 'service' },
  'ses-unavailable': { status: 503, title: 'Provider not available', family: 'service' },
  'ses-not-configured': { status: 503, title: 'Sending domains not available', family: 'service' },
  'not-ready': { status: 503, title: 'Service not ready', family: 'service' },
} as const satisfies Record<string, ProblemDefinition>;

export type ProblemSlug = keyof typeof PROBLEMS;
export type AlsoStatus = (typeof PROBLEMS)['validation-failed']['alsoStatus'];

/** One fault of a send request: the field's path as written in the request, such as `to[2]`. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

/** Contract 7.1, as answered with `application/problem+json`. */
export interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly instance: string;
  readonly errors?: readonly FieldFault[];
}

export interface ProblemBases {
  readonly service: string;
  readonly platform: string;
}

/**
 * @param requestId becomes `instance`; the same value is sent as `x-request-id`.
 * @param more `status`: the one the catalogue lists besides the usual one.
 */
export function problemDocument(
  slug: ProblemSlug,
  bases: ProblemBases,
  requestId: string,
  more: {
    readonly detail?: string;
    readonly errors?: readonly FieldFault[];
    readonly status?: AlsoStatus;
  } = {},
): ProblemDocument {
  const { title, family } = PROBLEMS[slug];
  const status = more.status ?? PROBLEMS[slug].status;
  return {
    type: `${bases[family]}/${slug}`,
    title,
    status,
    ...(more.detail === undefined ? {} : { detail: more.detail }),
    instance: requestId,
    ...(more.errors === undefined ? {} : { errors: more.errors }),
  };
}
