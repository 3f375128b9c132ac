import type { Figure } from '../figure.ts';
import { countStatements } from '../fixture/cluster.ts';
import { addKey } from '../load/api-traffic.ts';
import { MAIL_BODY, sendMail } from '../load/send-mail.ts';
import { servingRounds } from '../load/serving-rounds.ts';
import type { ServingRound } from '../load/serving-rounds.ts';
import { checkOf, valueOf } from '../result/result.ts';

const CONCURRENCY = 16;
/** Statements that open a transaction, and writes outside of one. */
const WRITES = String.raw`(s.query ~* '^\s*(begin|start transaction)' or s.query ~* '\m(insert into|update|delete from)\M')`;

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
  async run(fixture) {
    if (fixture.cluster.notCounting !== null) throw new Error(fixture.cluster.notCounting);
    const installation = await fixture.install();
    const { database } = installation;
    await countStatements(database);
    const api = await installation.start('api');
    const key = await addKey(installation);
    const bare = fixture.bareExpress();
    const barePort = await bare.call('listen', null);
    const count = fixture.sizes.sends;
    const rounds = await servingRounds(fixture, {
      installation,
      count,
      noun: 'message',
      counted: WRITES,
      yardstick: { port: barePort, pid: bare.pid },
      ours: api,
      request: (port) => sendMail({ port, key, count, concurrency: CONCURRENCY }),
    });
    const all = (pick: (round: ServingRound) => number): number[] => rounds.map(pick);
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
          all(({ calls }) => calls),
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
