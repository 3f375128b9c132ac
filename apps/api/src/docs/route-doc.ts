import type { ProblemSlug } from '@postrider/domain';
import type { SchemaName } from './schemas.ts';

/** A refusal of a route's own, as `422 validation-failed`, or `422 text` where it is plain text. */
export type Refusal = `${number} ${ProblemSlug | 'text'}`;

/** What a reader wants to know of a route besides what the table of routes says. */
export interface RouteDoc {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The body, where the route reads one. */
  readonly request?: SchemaName;
  readonly success: {
    readonly status: 200 | 201;
    readonly schema: SchemaName | 'page';
    /** Where what was asked for is there already. */
    readonly also?: 200;
  };
  /** Whether a repetition under the same `Idempotency-Key` is harmless. */
  readonly idempotent?: true;
  /** Whether the query chooses a page. */
  readonly paged?: true;
  /** Besides those that follow from the table: of the key, the limit, the scope and the body's size. */
  readonly refusals: readonly Refusal[];
}
