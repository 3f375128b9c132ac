import type { Figure } from '../figure.ts';
import type { BenchDatabase } from '../ground/cluster.ts';
import { countStatements, PRODUCT_ROLE } from '../ground/cluster.ts';
import { addKey } from '../load/api-traffic.ts';
import { postRequests } from '../load/post-requests.ts';
import { servingCost } from '../load/serving-cost.ts';
import type { ServingCost } from '../load/serving-cost.ts';
import { checkOf, valueOf } from '../result/result.ts';

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
  async run(ground) {
    if (ground.cluster.notCounting !== null) throw new Error(ground.cluster.notCounting);
    const installation = await ground.install();
    const { database } = installation;
    await countStatements(database);
    const account = await installation.addAccount();
    await installation.addWebhooks(account, ['https://127.0.2.1/never-called']);
    const api = await installation.start('api');
    const key = await addKey(installation, account);
    const bare = ground.bareExpress();
    const barePort = await bare.call('listen', database.url);
    const count = ground.sizes.sends;
    let made = 0;
    const bodyOf = (): Buffer => Buffer.from(JSON.stringify({ email: `someone${(made += 1)}@example.com` }));
    const how = { key, path: '/v1/suppressions', bodyOf, status: 201, count, concurrency: CONCURRENCY };
    const load = (port: number, pid: number): Promise<ServingCost> =>
      servingCost(pid, count, () => postRequests({ ...how, port }));
    await load(barePort, bare.pid);
    await load(api.port, api.pid);

    const rounds: { yardstick: ServingCost; ours: ServingCost; statements: number }[] = [];
    for (let round = 1; round <= ground.rounds; round += 1) {
      const yardstick = await load(barePort, bare.pid);
      await database.query('select pg_stat_statements_reset()');
      const ours = await load(api.port, api.pid);
      rounds.push({ yardstick, ours, statements: (await countAll(database)) / count });
      ground.say(
        `round ${round} of ${ground.rounds}: ${ours.cpuMs.toFixed(2)} ms of CPU a request, ` +
          `${yardstick.cpuMs.toFixed(2)} ms bare`,
      );
    }
    const all = (pick: (round: (typeof rounds)[number]) => number): number[] => rounds.map(pick);
    return {
      checks: [
        checkOf(
          'CPU of the api per request, against the bare route',
          '×',
          all(({ ours, yardstick }) => ours.cpuMs / yardstick.cpuMs),
          { atMost: 1.5 },
        ),
        checkOf(
          'statements per request',
          '',
          all(({ statements }) => statements),
          { atMost: 1.5 },
          'worst',
        ),
      ],
      values: [
        valueOf(
          'CPU of the api per request',
          'ms',
          all(({ ours }) => ours.cpuMs),
        ),
        valueOf(
          'CPU of a bare Express route with one insert, per request',
          'ms',
          all(({ yardstick }) => yardstick.cpuMs),
        ),
        valueOf(
          'requests',
          '/s',
          all(({ ours }) => ours.perSecond),
        ),
        valueOf(
          'requests at the bare route',
          '/s',
          all(({ yardstick }) => yardstick.perSecond),
        ),
      ],
      tables: [],
      plots: [],
    };
  },
};

async function countAll(database: BenchDatabase): Promise<number> {
  const [row] = await database.query<{ calls: number }>(
    `select coalesce(sum(s.calls), 0)::int as calls
     from pg_stat_statements s
     join pg_roles r on r.oid = s.userid and r.rolname = $1
     join pg_database d on d.oid = s.dbid and d.datname = current_database()`,
    [PRODUCT_ROLE],
  );
  // Without a single one, the counting was off: that is no good figure.
  if (row === undefined || row.calls === 0) throw new Error('pg_stat_statements has counted nothing');
  return row.calls;
}
