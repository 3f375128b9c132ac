import type { Figure } from '../figure.ts';
import type { BenchDatabase } from '../ground/cluster.ts';
import { countStatements, PRODUCT_ROLE } from '../ground/cluster.ts';
import { addKey } from '../load/api-traffic.ts';
import { MAIL_BODY, sendMail } from '../load/send-mail.ts';
import { servingCost } from '../load/serving-cost.ts';
import type { ServingCost } from '../load/serving-cost.ts';
import { checkOf, valueOf } from '../result/result.ts';

const CONCURRENCY = 16;

export const send: Figure = {
  id: 'send',
  title: 'Taking a message in',
  group: 'load',
  how:
    `\`POST /v1/emails\` with a message of ${(MAIL_BODY.length / 1024).toFixed(1)} KiB and a live key, ${CONCURRENCY} requests ` +
    'in flight on kept connections, as fast as they are answered; in turn with a bare Express route that parses the same ' +
    'JSON and answers with an id. CPU is that of the one process that serves, user and system. Neither relay nor worker run. ' +
    'Transactions that write are counted by `pg_stat_statements`, for the product’s role.',
  limitSeconds: 240,
  async run(ground) {
    if (ground.cluster.notCounting !== null) throw new Error(ground.cluster.notCounting);
    const installation = await ground.install();
    const { database } = installation;
    await countStatements(database);
    const api = await installation.start('api');
    const key = await addKey(installation);
    const bare = ground.bareExpress();
    const barePort = await bare.call('listen', null);
    const count = ground.sizes.sends;
    const load = (port: number, pid: number): Promise<ServingCost> =>
      servingCost(pid, count, () => sendMail({ port, key, count, concurrency: CONCURRENCY }));
    await load(barePort, bare.pid);
    await load(api.port, api.pid);

    const rounds: { yardstick: ServingCost; ours: ServingCost; writes: number }[] = [];
    for (let round = 1; round <= ground.rounds; round += 1) {
      const yardstick = await load(barePort, bare.pid);
      await database.query('select pg_stat_statements_reset()');
      const ours = await load(api.port, api.pid);
      rounds.push({ yardstick, ours, writes: (await countWrites(database)) / count });
      ground.say(
        `round ${round} of ${ground.rounds}: ${ours.cpuMs.toFixed(2)} ms of CPU a message, ` +
          `${yardstick.cpuMs.toFixed(2)} ms bare`,
      );
    }
    const all = (pick: (round: (typeof rounds)[number]) => number): number[] => rounds.map(pick);
    return {
      checks: [
        checkOf(
          'CPU of the api per message',
          'ms',
          all(({ ours }) => ours.cpuMs),
          { atMost: 1.5 },
        ),
        checkOf(
          'transactions that write, per message',
          '',
          all(({ writes }) => writes),
          { atMost: 1 },
          'worst',
        ),
      ],
      values: [
        valueOf(
          'CPU of a bare Express route per message',
          'ms',
          all(({ yardstick }) => yardstick.cpuMs),
        ),
        valueOf(
          'CPU of the api, against the bare route',
          '×',
          all(({ ours, yardstick }) => ours.cpuMs / yardstick.cpuMs),
        ),
        valueOf(
          'messages',
          '/s',
          all(({ ours }) => ours.perSecond),
        ),
        valueOf(
          'messages at the bare route',
          '/s',
          all(({ yardstick }) => yardstick.perSecond),
        ),
      ],
      tables: [],
      plots: [],
    };
  },
};

/** Whatever opens a transaction, and whatever writes without one. */
async function countWrites(database: BenchDatabase): Promise<number> {
  const [row] = await database.query<{ calls: number }>(
    `select coalesce(sum(s.calls), 0)::int as calls
     from pg_stat_statements s
     join pg_roles r on r.oid = s.userid and r.rolname = $1
     join pg_database d on d.oid = s.dbid and d.datname = current_database()
     where s.query ~* '^\\s*(begin|start transaction)' or s.query ~* '\\m(insert into|update|delete from)\\M'`,
    [PRODUCT_ROLE],
  );
  // Without a single one, the counting was off: that is no good figure.
  if (row === undefined || row.calls === 0) throw new Error('pg_stat_statements has counted nothing');
  return row.calls;
}
