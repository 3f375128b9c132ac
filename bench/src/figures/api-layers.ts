import { measureRounds } from '../figure.ts';
import type { Figure } from '../figure.ts';
import { spreadOf } from '@postrider/testing';
import { addKey } from '../load/api-traffic.ts';
import { API_LAYERS } from '../load/api-layers.ts';
import { postRequests } from '../load/post-requests.ts';
import { servingCost } from '../load/serving-cost.ts';
import { checkOf, judging } from '../result/result.ts';
import { LAYERED_PATH } from '../roles/api-layers.ts';

const CONCURRENCY = 16;
/** A layer above this cost needs a reason on the page. */
const COST_MAX_US = 20;

export const apiLayers: Figure = {
  id: 'api-layers',
  title: 'What each layer around Express costs',
  group: 'load',
  how:
    'An Express route that parses `{"email":…}` and answers 201 with an id, without Postgres; then the same with one layer of ' +
    'the API after the other, its own code, each step in a process of its own. ' +
    `${CONCURRENCY} requests in flight on kept connections, as fast as they are answered, all steps in turn in each round. CPU is ` +
    'that of the process that serves, user and system. A layer costs what its step takes more than the step before: less than ' +
    'nothing where it replaces something of Express’s that costs more. The rate limit is not among them: it is a call to Redis, ' +
    'and this route has none.',
  limitSeconds: 300,
  async run(fixture) {
    const installation = await fixture.install();
    const { url } = installation.database;
    const key = await addKey(installation);
    const count = fixture.sizes.sends;
    const body = Buffer.from(JSON.stringify({ email: 'someone@example.com' }));
    const how = { key, path: LAYERED_PATH, bodyOf: () => body, status: 201, count, concurrency: CONCURRENCY };
    const steps = await Promise.all(
      [0, ...API_LAYERS.map((_, index) => index + 1)].map(async (layers) => {
        const role = fixture.apiLayers();
        const port = await role.call('listen', { count: layers, databaseUrl: url });
        return { pid: role.pid, request: () => postRequests({ ...how, port }) };
      }),
    );
    const measure = async (): Promise<number[]> => {
      const costs: number[] = [];
      for (const { pid, request } of steps) {
        costs.push((await servingCost(pid, count, request)).cpuMs * 1000);
      }
      return costs;
    };
    for (let made = 0; made < fixture.sizes.warmUp; made += count) await measure();
    const rounds = await measureRounds(
      fixture,
      measure,
      (costs) => `${costs.map((us) => Math.round(us)).join(', ')} µs a request`,
    );
    const { value } = judging(rounds);
    const layers = API_LAYERS.map(({ name, reason }, index) => ({
      name,
      reason,
      costs: rounds.map((costs) => (costs[index + 1] ?? Number.NaN) - (costs[index] ?? Number.NaN)),
    }));
    const dearest = layers
      .filter(({ reason }) => reason === null)
      .reduce((one, other) => (spreadOf(other.costs).median > spreadOf(one.costs).median ? other : one));
    return {
      checks: [checkOf('the dearest layer without a reason', 'µs', dearest.costs, { atMost: COST_MAX_US })],
      values: [
        value('a bare Express route', 'µs', ([bare = Number.NaN]) => bare),
        value('with every layer', 'µs', (costs) => costs.at(-1) ?? Number.NaN),
      ],
      tables: [
        {
          title: `CPU of each layer, median of ${rounds.length} rounds of ${count.toLocaleString('en')} requests`,
          head: ['layer', 'µs', 'from', 'to', `why, where it may cost more than ${COST_MAX_US} µs`],
          rows: layers.map(({ name, costs, reason }) => {
            const { median, min, max } = spreadOf(costs);
            return [name, ...[median, min, max].map((us) => Math.round(us)), reason ?? '–'];
          }),
        },
      ],
    };
  },
};
