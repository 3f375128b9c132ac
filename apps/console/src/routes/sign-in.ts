import express from 'express';
import type { Request, Response, Router } from 'express';
import type { Logger } from '@postrider/runtime';
import type { ConsoleSessionStore } from '@postrider/store';
import { keyOf } from '../access/console-keys.ts';
import type { ConsoleKey } from '../access/console-keys.ts';
import { hasCsrf, newSessionToken, SESSION_HOURS, visitorOf } from '../access/sessions.ts';
import { SignInLimit } from '../access/sign-in-limit.ts';
import { sessionCookie, sessionToken } from '../http/cookie.ts';
import { isOwnOrigin } from '../http/origin.ts';
import { forbidden } from '../http/refusal.ts';
import { requestIdOf } from '../http/open-request.ts';
import { fieldsOf, formBody } from '../http/serve-form.ts';
import type { Respond } from '../http/respond.ts';
import { queryOf } from '../html/links.ts';
import { signInPage } from '../pages/sign-in.ts';

export interface SignInParts {
  readonly keys: readonly ConsoleKey[];
  readonly sessions: ConsoleSessionStore;
  readonly logger: Logger;
  readonly respond: Respond;
}

const WRONG_KEY = 'This key is not valid.';

/** `/sign-in` and `/sign-out`. */
export function signInRoutes(parts: SignInParts): Router {
  const limit = new SignInLimit();
  const router = express.Router();
  router.get('/sign-in', (request, response) => {
    const { next, form } = request.query;
    const page = signInPage({ next: ownPath(next), isUnsent: form === 'unsent' });
    parts.respond(response, page, null);
  });
  router.post('/sign-in', formBody, async (request: Request, response: Response) =>
    signIn(parts, limit, request, response),
  );
  router.post('/sign-out', formBody, async (request: Request, response: Response) =>
    signOut(parts, request, response),
  );
  return router;
}

async function signIn(
  { keys, sessions, logger, respond }: SignInParts,
  limit: SignInLimit,
  request: Request,
  response: Response,
): Promise<void> {
  const { key: text, next, form } = fieldsOf(request);
  const isUnsent = form === 'unsent';
  response.locals['formPage'] =
    `/sign-in${queryOf({ form: isUnsent ? form : undefined, next: ownPath(next) })}`;
  requireOwnOrigin(request, response);
  const address = request.socket.remoteAddress ?? '';
  // A right key signs in, also while the address waits. All users behind a proxy have one address.
  const key = typeof text === 'string' ? keyOf(keys, text.trim()) : null;
  if (key === null) {
    const waitSeconds = limit.waitSeconds(address);
    if (waitSeconds === 0) {
      limit.addWrong(address);
      logger.warn('console.sign_in_refused', { address });
    } else {
      response.set('retry-after', String(waitSeconds));
    }
    const [status, fault] =
      waitSeconds === 0
        ? [401, WRONG_KEY]
        : [429, `${WRONG_KEY} Many wrong keys came from your IP address. A valid key works at once.`];
    respond(response, signInPage({ next: ownPath(next), isUnsent, refused: { status, fault } }), null);
    return;
  }
  limit.forget(address);
  const token = newSessionToken();
  await sessions.open(token, { userName: key.name, keyDigest: key.digest }, SESSION_HOURS);
  logger.info('console.signed_in', { user: key.name, role: key.role });
  response.append('set-cookie', sessionCookie(token, SESSION_HOURS * 3600));
  response.redirect(303, ownPath(next));
}

async function signOut({ keys, sessions }: SignInParts, request: Request, response: Response): Promise<void> {
  response.locals['formPage'] = '/';
  requireOwnOrigin(request, response);
  const visitor = await visitorOf(request, sessions, keys);
  const token = sessionToken(request);
  const { csrf } = fieldsOf(request);
  if (visitor !== null && token !== null) {
    if (!hasCsrf(visitor, csrf)) throw forbidden('This form is not valid', '', requestIdOf(response), '/');
    await sessions.close(token);
  }
  response.append('set-cookie', sessionCookie('', 0));
  response.redirect(303, '/sign-in');
}

function requireOwnOrigin(request: Request, response: Response): void {
  if (isOwnOrigin(request)) return;
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (origin === 'null' && site === undefined) {
    const why = 'Over plain HTTP, browsers do not say which site a form is from, except on this machine.';
    throw forbidden('The console needs HTTPS', why, requestIdOf(response), '/sign-in');
  }
  throw forbidden('This form is from another site', '', requestIdOf(response), '/sign-in');
}

/** A path of the console. Other text becomes the overview, so that no sign-in leads to another site. */
function ownPath(text: unknown): string {
  // Browsers read `//host` and `/\host` as another host, and skip line feeds and tabs.
  return typeof text === 'string' && /^\/(?![/\\])[!-[\]-~]*$/.test(text) ? text : '/';
}
