import { measureRounds } from '../figure.ts';
import type { Figure } from '../figure.ts';
import { countStatements, readCounts, totalCalls } from '../fixture/cluster.ts';
import type { StatementCount } from '../fixture/cluster.ts';
import { drainBurst } from '../load/drain-burst.ts';
import { installWithEndpoint } from '../load/one-endpoint.ts';
import { judging } from '../result/result.ts';

const TABLE_ROWS = 12;

export const statements: Figure = {
  id: 'statements',
  title: 'Postgres statements per delivery',
  group: 'load',
  how:
    'Counted by `pg_stat_statements` while a relay and a worker drain a burst to one endpoint: every statement of the ' +
    'product’s role, BEGIN and COMMIT among them, in the whole of the burst. The tool and the events’ origin use another ' +
    'role; the api does not run.',
  limitSeconds: 240,
  async run(fixture) {
    if (fixture.cluster.notCounting !== null) throw new Error(fixture.cluster.notCounting);
    const { receiver, installation, webhooks } = await installWithEndpoint(fixture);
    const { database } = installation;
    await countStatements(database);
    await installation.start('relay');
    await installation.start('worker');
    const { burst } = fixture.sizes;
    await drainBurst(fixture, installation, receiver, { webhooks, count: Math.ceil(burst / 10) });

    const measure = async (): Promise<StatementCount[]> => {
      await database.query('select pg_stat_statements_reset()');
      await drainBurst(fixture, installation, receiver, { webhooks, count: burst });
      return readCounts(database);
    };
    const describe = (counts: readonly StatementCount[]): string =>
      `${(totalCalls(counts) / burst).toFixed(3)} per delivery`;
    const rounds = await measureRounds(fixture, measure, describe);
    const { check, value } = judging(rounds);
    const last = rounds.at(-1) ?? [];
    return {
      checks: [check('statements per delivery', '', { atMost: 0.2 }, (counts) => totalCalls(counts) / burst)],
      values: [value('different statements', '', (counts) => counts.length)],
      tables: [
        {
          title: `The most frequent, in the last round of ${burst.toLocaleString('en')} deliveries`,
          head: ['statement', 'calls', 'per delivery'],
          rows: last
            .slice(0, TABLE_ROWS)
            .map(({ query, calls }) => [query, calls, (calls / burst).toFixed(4)]),
        },
      ],
    };
  },
};
