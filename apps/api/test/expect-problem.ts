import { expect } from '@jest/globals';
import { PROBLEMS } from '@postrider/domain';
import type { ProblemSlug } from '@postrider/domain';
import type { Response } from 'supertest';
import { BASES } from './start-api.ts';

/** Asserts the whole of a problem answer (contract 7.1) but for the words of its detail, which it gives back. */
export function expectProblem(response: Response, slug: ProblemSlug): string | undefined {
  const { status, title, family } = PROBLEMS[slug];
  expect({ status: response.status, body: textOf(response) }).toMatchObject({ status });
  expect(response.headers['content-type']).toBe('application/problem+json');
  const { detail, errors, ...rest } = JSON.parse(textOf(response)) as Record<string, unknown>;
  expect(rest).toEqual({
    type: `${BASES[family]}/${slug}`,
    title,
    status,
    instance: response.headers['x-request-id'],
  });
  expect(errors === undefined || slug === 'validation-failed').toBe(true);
  expect(response.headers['retry-after']).toBeUndefined();
  return detail as string | undefined;
}

export function expectPlainText(response: Response, status: number): void {
  expect({ status: response.status, body: textOf(response) }).toMatchObject({ status });
  expect(response.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(response.text.length).toBeLessThan(200);
}

/** The answer with `instance` blanked: what must be the same for two requests. */
export function withoutInstance(response: Response): string {
  return textOf(response).replace(String(response.headers['x-request-id']), '…');
}

/** supertest keeps the text of media types that it does not know as bytes. */
export function textOf(response: Response): string {
  return Buffer.isBuffer(response.body) ? response.body.toString('utf8') : response.text;
}
