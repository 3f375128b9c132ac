import type { Figure } from '../figure.ts';
import { countStatements } from '../fixture/cluster.ts';
import { addKey } from '../load/api-traffic.ts';
import { postRequests } from '../load/post-requests.ts';
import { servingRounds } from '../load/serving-rounds.ts';
import { judging } from '../result/result.ts';

const CONCURRENCY = 16;

export const suppress: Figure = {
  id: 'suppress',
  title: 'Taking a cause in',
  group: 'load',
  how:
    `\`POST /v1/suppressions\` with a new address each, for an account with one webhook, ${CONCURRENCY} requests in flight on kept ` +
    'connections, as fast as they are answered; in turn with a bare Express route that parses the same JSON, inserts one row ' +
    'by `pg` and answers with an id. Each request writes the suppression, its event and a delivery. CPU is that of the one ' +
    'process that serves, user and system. Neither relay nor worker run. Statements are counted by `pg_stat_statements`, for ' +
    'the product’s role. Commits wait for the disk.',
  limitSeconds: 240,
  async run(fixture) {
    if (fixture.cluster.notCounting !== null) throw new Error(fixture.cluster.notCounting);
    const installation = await fixture.install();
    const { database } = installation;
    await countStatements(database);
    const account = await installation.addAccount();
    await installation.addWebhooks(account, ['https://127.0.2.1/never-called']);
    const api = await installation.start('api');
    const key = await addKey(installation, account);
    const bare = fixture.bareExpress();
    const barePort = await bare.call('listen', database.url);
    const count = fixture.sizes.sends;
    let made = 0;
    const bodyOf = (): Buffer => Buffer.from(JSON.stringify({ email: `someone${(made += 1)}@example.com` }));
    const how = { key, path: '/v1/suppressions', bodyOf, status: 201, count, concurrency: CONCURRENCY };
    const rounds = await servingRounds(fixture, {
      installation,
      count,
      noun: 'request',
      yardstick: { port: barePort, pid: bare.pid },
      ours: api,
      request: (port) => postRequests({ ...how, port }),
    });
    const { check, value } = judging(rounds);
    return {
      checks: [
        check(
          'CPU of the api per request, against the bare route',
          '×',
          { atMost: 1.5 },
          ({ ours, yardstick }) => ours.cpuMs / yardstick.cpuMs,
        ),
        check('statements per request', '', { atMost: 1.5, judged: 'worst' }, ({ calls }) => calls),
      ],
      values: [
        value('CPU of the api per request', 'ms', ({ ours }) => ours.cpuMs),
        value(
          'CPU of a bare Express route with one insert, per request',
          'ms',
          ({ yardstick }) => yardstick.cpuMs,
        ),
        value('requests', '/s', ({ ours }) => ours.perSecond),
        value('requests at the bare route', '/s', ({ yardstick }) => yardstick.perSecond),
      ],
    };
  },
};
