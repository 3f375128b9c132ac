import type { Refusal } from '../routes/route.ts';
import type { Schema } from './json-schema.ts';
import type { SchemaName } from './schemas.ts';

/** What a reader wants to know of a route besides what the table of routes says. */
export interface RouteDoc {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The body, where the route reads one. */
  readonly request?: SchemaName;
  /** How a body comes that is not sent as JSON. */
  readonly requestMedia?: {
    readonly types: readonly string[];
    /** Whether there may be none. */
    readonly optional?: true;
    /** How it is read. */
    readonly words: string;
  };
  readonly success: {
    readonly status: 200 | 201 | 202;
    /** `file`: bytes of any type, whole or a range of them. */
    readonly schema: SchemaName | 'page' | 'file';
    /** Where what was asked for is there already. */
    readonly also?: 200;
    /** Whether a person is answered with a page instead. */
    readonly orPage?: true;
  };
  /** Whether a repetition under the same `Idempotency-Key` is harmless. */
  readonly idempotent?: true;
  /** Whether the query chooses a page. */
  readonly paged?: true;
  /** Parameters of the query besides those of a page. */
  readonly query?: readonly QueryParameter[];
  /** Besides those that follow from the table: of the key, the limit, the scope and the body's size. */
  readonly refusals: readonly Refusal[];
}

/** None of them is required. */
export interface QueryParameter {
  readonly name: string;
  readonly description: string;
  readonly schema: Schema;
}
