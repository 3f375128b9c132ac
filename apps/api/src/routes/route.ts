import type { IncomingHttpHeaders } from 'node:http';
import type { AlsoStatus, ProblemSlug, Scope } from '@postrider/domain';
import type { ApiKey } from '@postrider/store';
import type { z } from 'zod';
import type { AccountSlots, WaitingClient } from '../http/account-slots.ts';
import type { Answer, PlainTextAnswer } from '../http/answer.ts';
import type { BodyRule } from '../http/body-rules.ts';

/** The settings of the deployment that the routes depend on. */
export interface RouteRules {
  /** True: live mail may only come from domains that the account has verified. */
  readonly verifiedDomainsOnly: boolean;
  /** False: the mail provider needs an ASCII local part in every address. */
  readonly smtpUtf8: boolean;
  /** `AWS_REGION`, whatever the mail provider. SES writes its own Message-IDs, also over SMTP. */
  readonly awsRegion: string | undefined;
  /** The number of webhooks that an account without a limit of its own may have. */
  readonly webhooksPerAccountMax: number;
  /** Start of the names of the headers on a delivery. A webhook's own headers cannot have these names. */
  readonly signatureHeaderPrefix: string;
}

/** A request that passed the checks before its handler: key, limit, scope and body. */
export interface RouteRequest {
  readonly key: ApiKey;
  /** The `:id` of the path, percent-decoded and not checked. Empty when the path has none. */
  readonly id: string;
  /** Every named part of the path, `id` included, percent-decoded and not checked. */
  readonly params: Readonly<Record<string, string>>;
  /** Scheme and host that the client used, as in `http://127.0.0.1:3000`. */
  readonly origin: string;
  /** The query of the request target. A name may appear more than once. */
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The parsed JSON body. Undefined when the route ignores the body. */
  readonly body: unknown;
  /** The answer's `x-request-id`. */
  readonly requestId: string;
  /** Checks the key again. Call it after a wait. @returns the refusal; null: the key is still good */
  readonly recheckKey: () => Promise<Answer | null>;
  /** Says whether the client still waits for the answer. */
  readonly client: WaitingClient;
}

/** A request without an API key. A signature or a sealed token in it decides what it may do. */
export interface KeylessRequest {
  /** The `:id` of the path, percent-decoded and not checked. Empty when the path has none. */
  readonly id: string;
  /** `HEAD` asks for the answer of a GET without its body. */
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The bytes of the body, because a signature may cover them. Empty when the route ignores the body. */
  readonly body: Buffer;
  /** The id of the request, for the route's log lines. */
  readonly requestId: string;
}

/** An HTTP route. It must state who may call it, whether it is limited, and how it reads a body. */
export type Route = KeyedRoute | KeylessRoute;

interface RouteBase {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** The first parameter is called `:id`. */
  readonly path: string;
  /** Absent: the route reads no body. */
  readonly body?: BodyRule | undefined;
}

/** A route that needs an API key. It sees the data of the key's account. Its body is JSON. */
export interface KeyedRoute extends RouteBase {
  readonly scope: Scope;
  /** True: test keys get 403, whatever their scopes. */
  readonly liveOnly?: true;
  /** True: the key's rate limit applies (contract 8, rule 3). */
  readonly limited: boolean;
  /**
   * Returns what a parsed body costs. Without this function a limited route costs 1. With it, the API charges
   * the key after it has read the body. Before that, the key must have at least 1 left in its rate limit
   * window.
   */
  readonly cost?: (body: unknown) => BodyCost;
  /** A mistake of the customer is an answer. @throws StoreUnavailableError */
  readonly handle: (request: RouteRequest) => Promise<Answer>;
}

export interface BodyCost {
  readonly cost: number;
  /** The answer to a body that the route refuses; null: the handler decides. */
  readonly refusal: Answer | null;
}

/** A route without an API key and so without a rate limit, for callers who cannot have a key. */
export interface KeylessRoute extends RouteBase {
  readonly scope: null;
  /** Requests from the same client address share slots. True: the slots of `StageServices.clientSlots`. */
  readonly slotPerClient?: true | AccountSlots;
  /** @throws StoreUnavailableError */
  readonly handle: (request: KeylessRequest) => Promise<Answer>;
}

/** A route with its description. */
export type Documented<AnyRoute extends Route = Route> = AnyRoute & { readonly docs: RouteDocs };

/**
 * The description of a route in `docs/openapi.json`. The document lists the JSON Schema of each zod schema
 * under the `id` of its `meta`.
 */
export interface RouteDocs {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The validator of the body, when the route reads one. */
  readonly request?: z.ZodType;
  /** The media types of a body that is not sent as JSON. */
  readonly requestMedia?: {
    readonly types: readonly string[];
    /** True: the body may be missing. */
    readonly optional?: true;
    /** How the route reads the body, in words. */
    readonly words: string;
  };
  readonly success: {
    readonly status: 200 | 201 | 202;
    /**
     * `html`: a page. `file`: a download of any type, whole or one range. `text`: a download of plain text or
     * HTML.
     */
    readonly body: z.ZodType | 'html' | 'file' | 'text';
    /** The status when the resource existed before the request. */
    readonly also?: 200;
    /** True: a browser's form gets a page instead. */
    readonly orHtml?: true;
  };
  /** True: the route accepts an `Idempotency-Key`. */
  readonly idempotent?: true;
  /** True: the query takes `limit`, `after` and `before`. */
  readonly paged?: true;
  /** The parameters of the query besides those of a page. */
  readonly query?: z.ZodObject;
  /** The refusals of this route alone. The document adds those of key, limit, scope and body size. */
  readonly refusals: readonly Refusal[];
}

/**
 * A refusal of a route. A slug alone stands for the problem with its usual status. `400 validation-failed` is
 * the same problem with its other status. `422 text` is an answer in plain text.
 */
export type Refusal = ProblemSlug | `${AlsoStatus} validation-failed` | `${PlainTextAnswer['status']} text`;
