import { beforeAll, describe, expect, test } from '@jest/globals';
import { SCOPES } from '@postrider/domain';
import { fetchMetrics } from '@postrider/testing';
import { tableNames } from '../../test/everything-stored.ts';
import { EVERY_ROUTE, requestOf, titled } from '../../test/every-route.ts';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupFakeDomains } from '../../test/fake-domains.ts';
import { FUZZED_SNS } from '../../test/fuzz/fuzzed-sns.ts';
import { setupApi } from '../../test/start-api.ts';

const domains = setupFakeDomains();
const api = setupApi(() => ({ domainProvider: domains.provider, sns: FUZZED_SNS.access }));
let authorization: string;

/** The stages before the handlers need these tables. */
const KEPT = ['accounts', 'api_keys'];

/** Causes an internal error in every handler: the tables are missing. */
beforeAll(async () => {
  ({ authorization } = await api.newCaller({ scopes: SCOPES }));
  const names = (await tableNames(api.database)).filter((name) => !KEPT.includes(name));
  for (const name of names) await api.database.query(`alter table ${name} rename to gone_${name}`);
});

async function internalFailures(): Promise<number> {
  return (await fetchMetrics(api.port)).read('postrider_http_failures_total{problem="internal"}');
}

describe.each(titled(EVERY_ROUTE))('%s', (_, route) => {
  test('an unexpected error is a 500 without internals, and its cause is in the log', async () => {
    const unsent = requestOf(api.url, route);
    const before = await internalFailures();
    const response = await (route.scope === null ? unsent : unsent.set('authorization', authorization));
    const detail = expectProblem(response, 'internal');
    expect(detail).toBeUndefined();
    const id = String(response.headers['x-request-id']);
    const line = api
      .log()
      .split('\n')
      .find((each) => each.includes('request failed') && each.includes(id));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ level: 'error', request_id: id });
    expect(line).toContain('does not exist');
    expect(await internalFailures()).toBe(before + 1);
  });
});
