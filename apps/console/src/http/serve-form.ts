import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { html } from '@remix-run/html-template';
import express from 'express';
import type { Request, RequestHandler, Response } from 'express';
import type { Clock } from '@postrider/domain';
import type { Logger } from '@postrider/runtime';
import type { ConsoleFormStore, ConsoleSessionStore, FormResult } from '@postrider/store';
import type { ConsoleKey } from '../access/console-keys.ts';
import { hasCsrf, visitorOf } from '../access/sessions.ts';
import type { Visitor } from '../access/sessions.ts';
import { queryOf } from '../html/links.ts';
import type { Html } from '../html/pieces.ts';
import { isOwnOrigin } from './origin.ts';
import { badRequest, forbidden, Refusal } from './refusal.ts';
import { requestIdOf } from './open-request.ts';

/** Reads the fields of a form: few and short. */
export const formBody = express.urlencoded({ extended: false, limit: '16kb', parameterLimit: 50 });

/** The fields of a form; none when the body is not a form. */
export function fieldsOf(request: Request): Readonly<Record<string, unknown>> {
  return (request.body as Readonly<Record<string, unknown>> | undefined) ?? {};
}

/** A form of an operator, whose tokens are valid. */
export interface Submission {
  readonly visitor: Visitor;
  readonly params: Readonly<Record<string, string>>;
  /** The fields without the tokens. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly now: Date;
}

/**
 * Acts. @returns the page that says what was done. @throws Refusal when it did nothing. After another error
 * it may have acted: Postgres may commit, and its answer may be lost.
 */
export type FormHandler = (submission: Submission) => Promise<FormResult>;

export interface FormServing {
  readonly sessions: Pick<ConsoleSessionStore, 'find'>;
  readonly forms: ConsoleFormStore;
  readonly keys: readonly ConsoleKey[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** A second click waits this long for the result of the first. */
  readonly resultWithinMs: number;
}

/** A second click looks this often for the result of the first. */
const RESULT_EVERY_MS = 250;

/** 16 bytes in base64url. */
const ONCE = /^[\w-]{22}$/;

/** True for a text that can be the one-time token of a form. */
export function isFormToken(text: unknown): text is string {
  return typeof text === 'string' && ONCE.test(text);
}

/** The hidden fields of a form: the session's token, and one that is used once. */
export function formTokens({ csrf }: Visitor): Html {
  const once = randomBytes(16).toString('base64url');
  return html`<input type="hidden" name="csrf" value="${csrf}" /><input
      type="hidden"
      name="once"
      value="${once}"
    />`;
}

/** Serves a form. A second click gets the result of the first, or a 409 when that takes too long. */
export function serveForm(serving: FormServing, handler: FormHandler): RequestHandler {
  return async (request, response) => {
    // Checked before the session: a form of another site comes without the session's cookie.
    if (!isOwnOrigin(request)) {
      throw forbidden('This form is from another site', '', requestIdOf(response), '/');
    }
    const formPage = formPageOf(request);
    response.locals['formPage'] = formPage;
    const visitor = await visitorOf(request, serving.sessions, serving.keys);
    if (visitor === null) {
      response.redirect(303, `/sign-in${queryOf({ form: 'unsent', next: formPage })}`);
      return;
    }
    response.locals['visitor'] = visitor;
    const { once, fields } = requireAllowed(visitor, request, response, formPage);
    const submission = {
      visitor,
      params: request.params as Submission['params'],
      fields,
      now: serving.clock.now(),
    };
    const { location } = await actOnce(serving, once, async () => {
      response.locals['hasBegun'] = true;
      const result = await handler(submission);
      serving.logger.info('console.acted', {
        user: visitor.name,
        path: request.path,
        request_id: requestIdOf(response),
      });
      return result;
    });
    response.redirect(303, withDone(location, once));
  };
}

/** The fields of a dry run that the form of a recovery has, too. */
const DRY_RUN_FIELDS = ['webhook', 'since', 'until', 'types', 'rate', 'only', 'reason', 'failing'];

/**
 * The URL of the page with the form: `/events/evt_1` for `/events/evt_1/replay`, a dry run for `/recoveries`.
 */
function formPageOf(request: Request): string {
  const [, noun = '', id] = request.path.split('/');
  if (id !== undefined) return `/${noun}/${id}`;
  const fields = Object.entries(fieldsOf(request)).flatMap(([name, value]) =>
    DRY_RUN_FIELDS.includes(name) && typeof value === 'string' ? [[name, value]] : [],
  );
  return `/recover${queryOf(Object.fromEntries(fields) as Record<string, string>)}`;
}

/** @throws Refusal for a reader, or a form without valid tokens. */
function requireAllowed(visitor: Visitor, request: Request, response: Response, formPage: string) {
  const refuse = (title: string, text: string) => forbidden(title, text, requestIdOf(response), formPage);
  if (visitor.role !== 'operator') {
    throw refuse(
      'Your key is read-only',
      `${visitor.name} can see every page but cannot act. Ask an operator to act, or ask the administrator of this installation for an operator key.`,
    );
  }
  const { csrf, once, ...fields } = fieldsOf(request);
  if (!hasCsrf(visitor, csrf)) {
    throw refuse('This form is not valid', 'It is from another session. Open its page again.');
  }
  if (!isFormToken(once)) throw badRequest(['once is not the token of a form.']);
  return { once, fields };
}

/** Acts for the first click. A second click waits for the result of the first. */
async function actOnce(
  { forms, resultWithinMs }: FormServing,
  once: string,
  act: () => Promise<FormResult>,
): Promise<FormResult> {
  let waitedMs = 0;
  while (!(await forms.claim(once))) {
    const first = await forms.result(once);
    if (first !== null) return first;
    if (waitedMs >= resultWithinMs) throw stillAtWork();
    await delay(RESULT_EVERY_MS);
    waitedMs += RESULT_EVERY_MS;
  }
  const result = await act().catch(async (error: unknown) => {
    // A refusal did nothing. With another error, the action may have taken effect: the form stays claimed.
    if (error instanceof Refusal) await forms.giveBack(once);
    throw error;
  });
  await forms.settle(once, result);
  return result;
}

function stillAtWork(): Refusal {
  const main = html`<div class="narrow-page sec">
    <h1>Still at work</h1>
    <p>
      This form was sent twice. The first one has not ended yet, or it failed and may have acted. This one
      changed nothing. The audit says what was done.
    </p>
    <p><a class="btn" href="/audit">Audit</a></p>
  </div>`;
  return new Refusal({ status: 409, title: 'Still at work', main });
}

function withDone(location: string, once: string): string {
  const [path = '', hash] = location.split('#');
  return `${path}${path.includes('?') ? '&' : '?'}done=${once}${hash === undefined ? '' : `#${hash}`}`;
}
