import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import express from 'express';
import type { Express, RequestHandler } from 'express';
import type { Clock } from '@postrider/domain';
import { createMetricsHandler, createReadinessHandler, healthHandler } from '@postrider/runtime';
import type { ConfigurationOf, Logger, Metrics, ReadinessCheck } from '@postrider/runtime';
import { createConsoleForms, createConsoleSessions } from '@postrider/store';
import type { Database, ReadDatabase } from '@postrider/store';
import { handleError } from './http/handle-error.ts';
import { badRequest, notFound } from './http/refusal.ts';
import { openRequest } from './http/open-request.ts';
import { createRespond } from './http/respond.ts';
import { serveForm, formBody } from './http/serve-form.ts';
import type { FormHandler } from './http/serve-form.ts';
import { servePage } from './http/serve-page.ts';
import type { PageHandler } from './http/serve-page.ts';
import { showAccount } from './routes/account.ts';
import { showAudit } from './routes/audit.ts';
import { showDeadLetters } from './routes/dead-letters.ts';
import { showEmail } from './routes/email.ts';
import { replayEvent, showEvent } from './routes/event.ts';
import { showHeld } from './routes/held.ts';
import { releaseMessage, showMessage } from './routes/message.ts';
import { createOneCount } from './routes/one-count.ts';
import type { OneCount } from './routes/one-count.ts';
import { showOverview } from './routes/overview.ts';
import type { ConsoleQueue } from './routes/overview.ts';
import { showRecover, startRecoveries } from './routes/recover.ts';
import { listRecoveries, showRecovery, stopRecovery } from './routes/recoveries.ts';
import { search } from './routes/search.ts';
import { signInRoutes } from './routes/sign-in.ts';
import { showWebhook } from './routes/webhook.ts';

export interface ConsoleParts {
  readonly config: ConfigurationOf<'console'>;
  /** Pages use it: every statement is in a read-only transaction. */
  readonly reads: ReadDatabase;
  /** Sign-in and actions use it. */
  readonly actions: Database;
  readonly clock: Clock;
  readonly readiness: ReadinessCheck;
  readonly queue: ConsoleQueue;
  readonly logger: Logger;
  readonly metrics: Metrics<'console'>;
  /** A second click on a form waits this long for the result of the first. */
  readonly resultWithinMs: number;
}

/** Builds the console and does not listen. A GET only reads; a POST acts and answers 303. */
export function createConsole(parts: ConsoleParts): Express {
  const { config, reads, actions, clock, logger, metrics } = parts;
  const keys = config.consoleKeys;
  const sessions = createConsoleSessions(actions);
  const respond = createRespond(clock);
  const counting = createOneCount();
  const app = express();
  app.disable('x-powered-by').disable('etag');
  // A proxy that keeps strangers from `/metrics` may not know `/METRICS` and `/metrics/`.
  app.enable('case sensitive routing').enable('strict routing');

  app.use(openRequest(logger));
  // The target of a request has no fragment (RFC 9112 3.2). Express would serve `/metrics#x` as `/metrics`.
  app.use((request, _response, next) =>
    next(request.url.includes('#') ? badRequest(['The path is not well-formed.']) : undefined),
  );
  app.get('/healthz', healthHandler);
  app.get('/readyz', createReadinessHandler(parts.readiness, logger));
  app.get('/metrics', createMetricsHandler(metrics.registry));
  app.get('/style.css', serveAsset('style.css'));
  app.get('/console.js', serveAsset('console.js'));
  app.use(signInRoutes({ keys, sessions, logger, respond }));
  const serving = { reads, keys, clock, respond };
  for (const [path, handler] of Object.entries(pagesOf(parts, counting)))
    app.get(path, servePage(serving, handler));
  const forms = createConsoleForms(actions);
  const acting = { sessions, forms, keys, clock, logger, resultWithinMs: parts.resultWithinMs };
  for (const [path, handler] of Object.entries(formsOf(parts, counting)))
    app.post(path, formBody, serveForm(acting, handler));
  app.use(
    servePage(serving, async () => {
      throw notFound('No page has this address.');
    }),
  );
  app.use(handleError(respond, clock, logger));
  return app;
}

function pagesOf(
  { config, reads, clock, queue }: ConsoleParts,
  counting: OneCount,
): Readonly<Record<string, PageHandler>> {
  return {
    '/': showOverview(reads, queue),
    '/accounts/:id': showAccount(reads, clock, config),
    '/audit': showAudit(reads, clock, config),
    '/dead-letters': showDeadLetters(reads, clock, config),
    '/emails/:id': showEmail(reads, clock, config),
    '/events/:id': showEvent(reads, clock, config),
    '/held': showHeld(reads, clock, config),
    '/messages/:id': showMessage(reads, clock, config),
    '/recover': showRecover(reads, clock, counting),
    '/recoveries': listRecoveries(reads),
    '/recoveries/:id': showRecovery(reads),
    '/search': search(reads, config),
    '/webhooks/:id': showWebhook(reads, clock, config),
  };
}

function formsOf(
  { actions, clock }: ConsoleParts,
  counting: OneCount,
): Readonly<Record<string, FormHandler>> {
  return {
    '/events/:id/replay': replayEvent(actions),
    '/messages/:id/release': releaseMessage(actions, clock),
    '/recoveries': startRecoveries(actions, clock, counting),
    '/recoveries/:id/stop': stopRecovery(actions, clock),
  };
}

const ASSET_TYPES = { 'style.css': 'text/css', 'console.js': 'text/javascript' } as const;

/**
 * Serves a file of the pages. In a bundle, the folder of these files is beside the program. The address of a
 * file is the same in each release, so browsers ask each time whether the file has changed.
 */
function serveAsset(name: keyof typeof ASSET_TYPES): RequestHandler {
  const text = readFileSync(join(import.meta.dirname, 'console-assets', name), 'utf8');
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  return (_request, response) => {
    response.set({ 'cache-control': 'no-cache', etag });
    response.type(`${ASSET_TYPES[name]}; charset=utf-8`).send(text);
  };
}
