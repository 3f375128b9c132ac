import type { IncomingHttpHeaders } from 'node:http';
import type { Scope } from '@postrider/domain';
import type { ApiKey } from '@postrider/store';
import type { Answer } from '../http/answer.ts';
import type { BodyRule } from '../http/body-rules.ts';

/** A request that has passed every stage before its handler. */
export interface RouteRequest {
  readonly key: ApiKey;
  /** The `:id` of the path, decoded but otherwise as written; empty where the path has none. */
  readonly id: string;
  /** Of the request target; a name may stand in it more than once. */
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body; undefined where the route ignores it. */
  readonly body: unknown;
}

/** One use case. @throws StoreUnavailableError; what the customer did wrong is an answer. */
export type Handle = (request: RouteRequest) => Promise<Answer>;

/** A route cannot be written without saying who may call it, whether it is counted, and how much it reads. */
export interface Route {
  readonly method: 'get' | 'post' | 'delete';
  readonly path: string;
  readonly scope: Scope;
  /** Whether the key's rate limit applies (contract 8, rule 3). */
  readonly limited: boolean;
  readonly body: BodyRule | 'ignored';
  readonly handle: Handle;
}
