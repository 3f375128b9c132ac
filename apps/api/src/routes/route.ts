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
  /** Every named part of the path, `id` among them, decoded but otherwise as written. */
  readonly params: Readonly<Record<string, string>>;
  /** Where the client has sent it, as in `http://127.0.0.1:3000`. */
  readonly origin: string;
  /** Of the request target; a name may stand in it more than once. */
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body; undefined where the route ignores it. */
  readonly body: unknown;
}

/** A request of anybody: what it may do must follow from what it brings, as a signature or a sealed token. */
export interface KeylessRequest {
  /** The `:id` of the path, decoded but otherwise as written; empty where the path has none. */
  readonly id: string;
  /** `HEAD` where a GET is asked for without its body. */
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as it came: it may be a form, or what a signature covers. Empty where the route ignores it. */
  readonly body: Buffer;
  /** For what the route logs. */
  readonly requestId: string;
}

/** One use case. @throws StoreUnavailableError; what the customer did wrong is an answer. */
export type Handle = (request: RouteRequest) => Promise<Answer>;
export type HandleKeyless = (request: KeylessRequest) => Promise<Answer>;

/** A route cannot be written without saying who may call it, whether it is counted, and how much it reads. */
export type Route = KeyedRoute | KeylessRoute;

interface RouteBase {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** Its first parameter is `:id`, if it has any. */
  readonly path: string;
  readonly body: BodyRule | 'ignored';
}

/** A route of the account that the request's key belongs to; its body is JSON. */
export interface KeyedRoute extends RouteBase {
  readonly scope: Scope;
  /** Whether test keys are refused, whatever their scopes (403). */
  readonly liveOnly?: true;
  /** Whether the key's rate limit applies (contract 8, rule 3). */
  readonly limited: boolean;
  /**
   * Of a limited route whose requests cost more than 1: what a body costs, and whether it is refused for what it is
   * besides. The key is then charged once the body is read; before that its window must have something left.
   */
  readonly cost?: (body: unknown) => BodyCost;
  readonly handle: Handle;
}

export interface BodyCost {
  /** 0: free. */
  readonly cost: number;
  readonly refusal: Answer | null;
}

/** A route that is asked for no key, and so has no limit: for callers who cannot have one. */
export interface KeylessRoute extends RouteBase {
  readonly scope: null;
  readonly handle: HandleKeyless;
}
