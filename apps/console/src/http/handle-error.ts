import { html } from '@remix-run/html-template';
import type { ErrorRequestHandler, Request } from 'express';
import type { Clock } from '@postrider/domain';
import type { Logger } from '@postrider/runtime';
import { isOutage, isUnavailable, unavailableInWords } from '@postrider/store';
import type { Visitor } from '../access/sessions.ts';
import type { Page } from '../html/layout.ts';
import { time } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { badRequest, Refusal } from './refusal.ts';
import { requestIdOf } from './open-request.ts';
import type { Respond } from './respond.ts';

/** Answers a request that failed. Only the log gets the error. A refusal is no fault, so it is not logged. */
export function handleError(respond: Respond, clock: Clock, logger: Logger): ErrorRequestHandler {
  // Express knows an error handler by its four parameters.
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const visitor = (response.locals['visitor'] as Visitor | undefined) ?? null;
    const requestId = requestIdOf(response);
    const formPage = (response.locals['formPage'] as string | undefined) ?? null;
    const hasBegun = response.locals['hasBegun'] === true;
    const refusal = refusalOf(error);
    if (refusal === null) {
      logger.error('request failed', { method: request.method, request_id: requestId, error });
    }
    const page =
      refusal?.pageFor(formPage) ??
      refreshed(failurePage(error, { formPage, hasBegun }, clock.now(), requestId), request);
    respond(response, page, visitor);
  };
}

/** The user asked for a page that reloads every few seconds. It goes on reloading after a failure. */
function refreshed(page: Page, { method, query: { live } }: Request): Page {
  return method === 'GET' && (live === '5' || live === '30')
    ? { ...page, refreshSeconds: Number(live) }
    : page;
}

function refusalOf(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  const { status } = error as { status?: unknown };
  // Express refuses a body that is too long or malformed, and a path that is not well-formed.
  const isRefused = typeof status === 'number' && status >= 400 && status < 500;
  return isRefused ? badRequest(['The path or the form is too long or not well-formed.']) : null;
}

interface FailedForm {
  /** The page of the form. Null: the request is for a page. */
  readonly formPage: string | null;
  /** The form may have acted: its transaction may be committed, and the answer lost. */
  readonly hasBegun: boolean;
}

function failurePage(error: unknown, form: FailedForm, now: Date, requestId: string): Page {
  const status = isUnavailable(error) ? 503 : 500;
  const reason = status === 503 ? unavailableInWords(error) : null;
  const { words, effect } = effectOf(form);
  const title = reason === null ? 'Something failed here' : `${words}: ${reason}`;
  const { formPage } = form;
  const outage = isOutage(error)
    ? html`<p>Deliveries wait, and none is lost. <code>postrider status</code> names the cause.</p>`
    : null;
  const main = html`<div class="narrow-page sec">
    <h1>${title}</h1>
    <p>${effect}</p>
    ${outage}
    <p><a class="btn" href="${formPage ?? ''}">${formPage === null ? 'Try again' : 'Back to the form'}</a></p>
    <p class="small soft">
      ${status} at ${time(now, now)} UTC. The log line has the same <code>request_id</code>:
      <code class="id whole" data-copy="request id">${requestId}</code>
    </p>
  </div>`;
  return { status, title, main };
}

/** What the failed request may have changed. */
function effectOf({ formPage, hasBegun }: FailedForm): { readonly words: string; readonly effect: Html } {
  if (formPage === null) {
    return {
      words: 'Not loaded',
      effect: html`The console could not load this page. Nothing changed.`,
    };
  }
  if (hasBegun) {
    return {
      words: 'Not ended',
      effect: html`The console could not end this action. <b>It may have changed something.</b> Look into the
        <a href="/audit">audit</a> before you try again.`,
    };
  }
  return {
    words: 'Not begun',
    effect: html`The console could not begin this action. This request changed nothing. After a double click,
      look into the <a href="/audit">audit</a>.`,
  };
}
