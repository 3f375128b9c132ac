import { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestListener } from 'node:http';
import type { ProblemBases, RateLimiter } from '@postrider/domain';
import { createMetricsHandler, createReadinessHandler, healthHandler } from '@postrider/runtime';
import type { ReadinessCheck } from '@postrider/runtime';
import type { ApiKeyStore } from '@postrider/store';
import express from 'express';
import { documentRoutes } from './docs/serve-document.ts';
import { createUnmeteredSlots } from './http/account-slots.ts';
import type { DeliveryLimits } from './http/account-slots.ts';
import { createAccessLog } from './http/access-log.ts';
import { createErrorHandler } from './http/handle-error.ts';
import { BodyLimits } from './http/read-body.ts';
import { openRequest } from './http/request-context.ts';
import { createSend } from './http/send.ts';
import { serveRoute } from './http/serve-route.ts';
import type { StageServices } from './http/serve-route.ts';
import { noSuchRoute } from './problems/answers.ts';
import { routeTable } from './routes/table.ts';
import type { RouteParts } from './routes/table.ts';
import type { RouteStores } from './stores.ts';

export interface AppOptions extends RouteParts {
  readonly stores: RouteStores;
  readonly apiKeys: Pick<ApiKeyStore, 'findActive'>;
  readonly limiter: RateLimiter;
  /** The number of connections to Postgres that all routes share. */
  readonly storeConnections: number;
  readonly deliveryLimits: DeliveryLimits;
  /** Applies to each key that has no limit of its own. */
  readonly keyRateLimitPerMinute: number;
  readonly problemBases: ProblemBases;
  readonly readiness: ReadinessCheck;
}

/** An Express application. It calls `noRoute` for a request that no middleware gets. */
type RoutingListener = (request: IncomingMessage, response: ServerResponse, noRoute: () => void) => void;

/** Builds the API and does not listen. A `HEAD` gets the answer of the `GET`, without the body. */
export function createApp(options: AppOptions): RequestListener {
  const { logger, metrics, stores } = options;
  const send = createSend(options.problemBases, logger, metrics);
  const services: StageServices = {
    apiKeys: options.apiKeys,
    limiter: options.limiter,
    limitOf: (key) => key.rateLimitPerMinute ?? options.keyRateLimitPerMinute,
    bodies: new BodyLimits(),
    ...createUnmeteredSlots(options.storeConnections, options.deliveryLimits),
    metrics,
  };

  const app = createExpress();
  app.get('/healthz', healthHandler);
  app.get('/readyz', createReadinessHandler(options.readiness, logger));
  app.get('/metrics', createMetricsHandler(metrics.registry));
  for (const route of [...documentRoutes(), ...routeTable(stores, options)])
    app[route.method](route.path, serveRoute(route, services, send));
  const refuse = (request: IncomingMessage, response: ServerResponse) => send(request, response, noSuchRoute);
  app.use(refuse); // without it, Express itself answers OPTIONS
  app.use(createErrorHandler(send, logger, metrics));

  const log = createAccessLog(logger, metrics);
  const dispatch = app as RoutingListener;
  return (request, response) => {
    openRequest(request, response);
    log(request, response);
    // A target has no fragment (RFC 9112 3.2). Express would serve `/metrics#x` as `/metrics`. A proxy's rule
    // for `/metrics` may not know that.
    if (request.url?.includes('#') === true) refuse(request, response);
    // Express runs no middleware for a target that is not a URL. It calls this function.
    else dispatch(request, response, () => refuse(request, response));
  };
}

/**
 * Creates an Express application that keeps Node's prototypes of request and response.
 *
 * By default, Express changes the prototype of every request and response. On Node 22, V8 then cannot cache
 * property access, which costs 100 µs per request. Node 24 has no such cost. We use no Express helpers.
 */
export function createExpress(): express.Express {
  const app = express();
  Object.assign(app, { request: IncomingMessage.prototype, response: ServerResponse.prototype });
  for (const setting of ['x-powered-by', 'etag', 'query parser']) app.disable(setting);
  for (const setting of ['case sensitive routing', 'strict routing']) app.enable(setting);
  return app;
}
