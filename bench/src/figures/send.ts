import type { Figure } from '../figure.ts';
import { countStatements } from '../fixture/cluster.ts';
import { addKey } from '../load/api-traffic.ts';
import { postRequests } from '../load/post-requests.ts';
import { servingRounds } from '../load/serving-rounds.ts';
import { judging } from '../result/result.ts';

const CONCURRENCY = 16;
/** Statements that open a transaction, and writes outside of one. */
const WRITES = String.raw`(s.query ~* '^\s*(begin|start transaction)' or s.query ~* '\m(insert into|update|delete from)\M')`;

/** A message of about 2 KB, as JSON. */
const MAIL_BODY = Buffer.from(
  JSON.stringify({
    from: 'Bench <bench@example.com>',
    to: ['someone@example.com'],
    subject: 'A message of the benchmark',
    html: `<p>${'words '.repeat(170)}</p>`,
    text: 'words '.repeat(130),
    tags: [{ name: 'kind', value: 'bench' }],
  }),
);

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
    const how = {
      key,
      path: '/v1/emails',
      bodyOf: () => MAIL_BODY,
      status: 200,
      count,
      concurrency: CONCURRENCY,
    };
    const rounds = await servingRounds(fixture, {
      installation,
      count,
      noun: 'message',
      counted: WRITES,
      yardstick: { port: barePort, pid: bare.pid },
      ours: api,
      request: (port) => postRequests({ ...how, port }),
    });
    const { check, value } = judging(rounds);
    return {
      checks: [
        check('CPU of the api per message', 'ms', { atMost: 1.5 }, ({ ours }) => ours.cpuMs),
        check(
          'transactions that write, per message',
          '',
          { atMost: 1, judged: 'worst' },
          ({ calls }) => calls,
        ),
      ],
      values: [
        value('CPU of a bare Express route per message', 'ms', ({ yardstick }) => yardstick.cpuMs),
        value(
          'CPU of the api, against the bare route',
          '×',
          ({ ours, yardstick }) => ours.cpuMs / yardstick.cpuMs,
        ),
        value('messages', '/s', ({ ours }) => ours.perSecond),
        value('messages at the bare route', '/s', ({ yardstick }) => yardstick.perSecond),
      ],
    };
  },
};
