import { expect } from '@jest/globals';
import { PROBLEMS } from '@postrider/domain';
import type { AlsoStatus, FieldFault, ProblemSlug } from '@postrider/domain';
import { BASES } from './start-api.ts';

/** What is looked at of an answer, whoever has fetched it. */
export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** supertest keeps the text of media types that it does not know as bytes in `body`, and a HEAD has none. */
  readonly text?: string;
  readonly body?: unknown;
}

/**
 * Asserts the whole of a problem answer (contract 7.1) but for the words of its detail, which it gives back.
 *
 * @param also the status that the catalogue lists besides the usual one, on routes that answer it.
 */
export function expectProblem(response: Answered, slug: ProblemSlug, also?: AlsoStatus): string | undefined {
  const { status: usual, title, family } = PROBLEMS[slug];
  const status = also ?? usual;
  expect({ status: response.status, body: textOf(response) }).toMatchObject({ status });
  expect(response.headers['content-type']).toBe('application/problem+json');
  const { detail, errors, ...rest } = JSON.parse(textOf(response)) as Record<string, unknown>;
  expect(rest).toEqual({
    type: `${BASES[family]}/${slug}`,
    title,
    status,
    instance: response.headers['x-request-id'],
    name: slug.replaceAll('-', '_'),
    message: detail ?? title,
    statusCode: status,
  });
  expect(errors === undefined || slug === 'validation-failed').toBe(true);
  expect(response.headers['retry-after']).toBeUndefined();
  return detail as string | undefined;
}

export function expectPlainText(response: Answered, status: number): void {
  expect({ status: response.status, body: textOf(response) }).toMatchObject({ status });
  expect(response.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(textOf(response).length).toBeLessThan(200);
}

/** The answer with `instance` blanked: what must be the same for two requests. */
export function withoutInstance(response: Answered): string {
  return textOf(response).replace(String(response.headers['x-request-id']), '…');
}

/** Everything that a client sees of an answer but its request id and the time: what must be the same for two requests. */
export function wholeAnswer(response: Answered): string {
  const headers = Object.entries(response.headers)
    .filter(([name]) => name !== 'x-request-id' && name !== 'date')
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([response.status, headers, withoutInstance(response)]);
}

export function textOf(response: Answered): string {
  return Buffer.isBuffer(response.body) ? response.body.toString('utf8') : (response.text ?? '');
}

/** The faults that a send route lists. */
export function errorsOf(response: Answered): FieldFault[] {
  return (JSON.parse(textOf(response)) as { errors: FieldFault[] }).errors;
}
