import { describe, expect, test } from '@jest/globals';
import { problemDocument, PROBLEMS } from './problems.ts';
import type { ProblemSlug } from './problems.ts';

/** Contract 7.2, whole. */
const CONTRACT: readonly (readonly [status: number, slug: string])[] = [
  [400, 'validation-failed'],
  [401, 'api-key-unauthorized'],
  [403, 'api-key-forbidden'],
  [403, 'domain-not-verified'],
  [403, 'inbox-limit'],
  [403, 'held-needs-manage'],
  [404, 'not-found'],
  [404, 'link-expired'],
  [409, 'idempotency-conflict'],
  [409, 'domain-taken'],
  [409, 'inbox-exists'],
  [409, 'route-exists'],
  [409, 'not-held'],
  [413, 'request-too-large'],
  [422, 'validation-failed'],
  [429, 'rate-limited'],
  [429, 'inbox-rate-limited'],
  [429, 'thread-rate-limited'],
  [500, 'internal'],
  [502, 'ses-refused'],
  [503, 'ses-unavailable'],
  [503, 'ses-not-configured'],
  [503, 'not-ready'],
];
const PLATFORM = ['api-key-unauthorized', 'api-key-forbidden', 'rate-limited', 'not-found', 'internal'];
const SLUGS = Object.keys(PROBLEMS) as ProblemSlug[];
const bases = { service: 'https://s.example/problems', platform: 'https://p.example/problems' };

describe('the catalogue', () => {
  test.each(SLUGS)('%s is a row of contract 7.2, under the base of its family', (slug) => {
    const { status, title, family } = PROBLEMS[slug];
    const { alsoStatus = status } = PROBLEMS[slug] as { alsoStatus?: number };
    for (const each of [status, alsoStatus]) expect(CONTRACT).toContainEqual([each, slug]);
    expect(family).toBe(PLATFORM.includes(slug) ? 'platform' : 'service');
    expect(title).not.toBe('');
  });

  test('holds every problem that the webhook, dead-letter and send routes answer with', () => {
    expect([...SLUGS].sort()).toEqual(
      expect.arrayContaining([...PLATFORM, 'validation-failed', 'request-too-large', 'not-ready'].sort()),
    );
  });

  test('gives no two problems one title', () => {
    expect(new Set(SLUGS.map((slug) => PROBLEMS[slug].title)).size).toBe(SLUGS.length);
  });
});

describe('a problem document (contract 7.1)', () => {
  test('has type, title, status and instance, and the members that Resend’s SDK shows', () => {
    expect(JSON.stringify(problemDocument('not-found', bases, 'req_1'))).toBe(
      '{"type":"https://p.example/problems/not-found","title":"Not found","status":404,"instance":"req_1",' +
        '"name":"not_found","message":"Not found","statusCode":404}',
    );
  });

  test('of a suppression or a topic that breaks a rule says 400', () => {
    const document = problemDocument('validation-failed', bases, 'req_1', { status: 400 });
    expect(document).toMatchObject({ status: 400, statusCode: 400 });
  });

  test('adds detail and errors when they are given', () => {
    const errors = [{ field: 'to[2]', message: 'is not a valid email address' }];
    expect(problemDocument('validation-failed', bases, 'req_1', { detail: 'why', errors })).toEqual({
      type: 'https://s.example/problems/validation-failed',
      title: 'Validation failed',
      status: 422,
      detail: 'why',
      instance: 'req_1',
      errors,
      name: 'validation_failed',
      message: 'why',
      statusCode: 422,
    });
  });
});
