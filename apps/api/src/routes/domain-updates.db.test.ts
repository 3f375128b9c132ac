import { beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupFakeDomains } from '../../test/fake-domains.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const domains = setupFakeDomains();
const api = setupApi(() => ({ domainProvider: domains.provider }));
let caller: Caller;
let id: string;

beforeAll(async () => {
  caller = await api.newCaller({ scopes: ['domains:manage'] });
  const response = await request(api.url)
    .post('/v1/domains')
    .set('authorization', caller.authorization)
    .send({ name: 'mail.b.example' });
  ({ id } = response.body as { id: string });
});

describe('PATCH /v1/domains/{id}', () => {
  const patch = (body: unknown) =>
    request(api.url)
      .patch(`/v1/domains/${id}`)
      .set('authorization', caller.authorization)
      .send(JSON.stringify(body));

  test.each([
    {},
    { open_tracking: false, click_tracking: false, tls: 'opportunistic' },
    { capabilities: { sending: 'enabled', receiving: 'enabled' }, tracking_subdomain: null },
  ])('%j is what every domain has: 200, and the provider is not asked', async (body) => {
    const asked = domains.ses.requests.length;
    const response = await patch(body);
    expect({ status: response.status, body: response.body as unknown }).toEqual({
      status: 200,
      body: { object: 'domain', id },
    });
    expect(domains.ses.requests).toHaveLength(asked);
  });

  test.each([
    [{ open_tracking: true }, 'open_tracking true cannot be set: it is false for every domain.'],
    [{ click_tracking: null }, 'click_tracking null cannot be set: it is false for every domain.'],
    [{ tls: 'enforced' }, 'tls "enforced" cannot be set: it is opportunistic for every domain.'],
    [
      { capabilities: { receiving: 'disabled' } },
      'capabilities.receiving "disabled" cannot be set: a domain receives once it was verified.',
    ],
    [{ capabilities: [] }, 'capabilities [] is not an object.'],
    [
      { tracking_subdomain: 'links' },
      'tracking_subdomain "links" is not supported: links are not rewritten.',
    ],
    [{ tsl: 'enforced' }, '"tsl" is not a field of this route; the nearest one is tls.'],
    [[], 'The body [] is not an object.'],
  ])('%j is refused', async (body, detail) => {
    expect(expectProblem(await patch(body), 'validation-failed')).toBe(detail);
  });
});
