import { html } from '@remix-run/html-template';
import type { Request, RequestHandler } from 'express';
import type { Clock } from '@postrider/domain';
import type { ConsoleFormStore, ConsoleSessionStore, FormResult, ReadDatabase } from '@postrider/store';
import { createConsoleForms, createConsoleSessions } from '@postrider/store';
import type { ConsoleKey } from '../access/console-keys.ts';
import { visitorOf } from '../access/sessions.ts';
import type { Visitor } from '../access/sessions.ts';
import type { Page } from '../html/layout.ts';
import { queryOf } from '../html/links.ts';
import { badRequest, Refusal } from './refusal.ts';
import type { Respond } from './respond.ts';
import { isFormToken } from './serve-form.ts';

/** A request of a signed-in user for a page. */
export interface Visit {
  readonly visitor: Visitor;
  /** False for a reader: pages leave out the forms. */
  readonly mayAct: boolean;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** The path with its query. */
  readonly url: string;
  readonly now: Date;
  /** False once the browser has disconnected. */
  readonly isConnected: () => boolean;
  /** The result of the form that led here. */
  readonly done: FormResult | null;
}

/** Reads what a page shows, or says where to redirect the browser. @throws Refusal */
export type PageHandler = (visit: Visit) => Promise<Page | { readonly redirect: string }>;

export interface PageServing {
  readonly reads: ReadDatabase;
  readonly keys: readonly ConsoleKey[];
  readonly clock: Clock;
  readonly respond: Respond;
}

/** Serves a page. Inside `reads.read`, everything that uses `reads` is in one read-only transaction. */
export function servePage(serving: PageServing, handler: PageHandler): RequestHandler {
  const { reads, keys, clock, respond } = serving;
  const sessions: Pick<ConsoleSessionStore, 'find'> = createConsoleSessions(reads);
  const forms = createConsoleForms(reads);

  return async (request, response) => {
    const answer = await reads.read(async () => {
      const visitor = await visitorOf(request, sessions, keys);
      if (visitor === null) return null;
      response.locals['visitor'] = visitor;
      const { done: formToken, ...query } = request.query;
      const visit = {
        visitor,
        mayAct: visitor.role === 'operator',
        params: request.params as Visit['params'],
        query,
        url: request.originalUrl,
        now: clock.now(),
        isConnected: () => !response.destroyed,
      };
      const page = await orRefusal(request, async () =>
        handler({ ...visit, done: await resultOf(forms, formToken) }),
      );
      return { visitor, page };
    });
    if (answer === null && isForeignLink(request)) {
      respond(response, OPENING, null);
    } else if (answer === null) {
      response.redirect(303, signInPath(request));
    } else if ('redirect' in answer.page) {
      response.redirect(303, answer.page.redirect);
    } else {
      respond(response, answer.page, answer.visitor);
    }
  };
}

async function resultOf(forms: Pick<ConsoleFormStore, 'result'>, token: unknown): Promise<FormResult | null> {
  if (token === undefined) return null;
  if (!isFormToken(token)) throw badRequest(['done is not the token of a form.']);
  return forms.result(token);
}

/** Returns a refusal as a page. An error that left the transaction would close the connection to Postgres. */
async function orRefusal<Answer>(request: Request, work: () => Promise<Answer>): Promise<Answer | Page> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return error.pageFor(formUrlOf(request, error.wrongFields));
    throw error;
  }
}

/**
 * The URL of the same page, without the wrong fields. No page is cached, so the browser's Back would lose the
 * right fields.
 */
function formUrlOf({ path, query }: Request, wrongFields: readonly string[]): string {
  const right = Object.entries(query).flatMap(([name, value]) =>
    typeof value === 'string' && name !== 'done' && !wrongFields.includes(name) ? [[name, value]] : [],
  );
  return `${path}${queryOf(Object.fromEntries(right) as Record<string, string>)}`;
}

/**
 * True when a link on another site led here, such as a link in a ticket. The session's cookie is
 * `SameSite=Strict`, so the browser does not send it then. The browser sends it when the console itself opens
 * the page.
 */
function isForeignLink({ headers }: Request): boolean {
  return headers['sec-fetch-site'] === 'cross-site';
}

/** Reloads at once. The user gets the page that the link names, or the sign-in page. */
const OPENING: Page = {
  title: 'Opening',
  refreshSeconds: 0,
  main: html`<div class="narrow-page sec">
    <h1>Opening the page</h1>
    <p><a class="btn" href="">Continue</a></p>
  </div>`,
};

function signInPath({ originalUrl }: Request): string {
  return originalUrl === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(originalUrl)}`;
}
