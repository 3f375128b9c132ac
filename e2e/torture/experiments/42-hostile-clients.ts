import { gzipSync } from 'node:zlib';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';
import { converse } from './raw-client.ts';
import type { Conversation, Spoken } from './raw-client.ts';

const SLOW_CLIENTS = 500;
const CLIENTS_OF_EACH_KIND = 20;
const KIB = 1024;
const MIB = 1024 * KIB;
/** What lies in the buffers between client and API, on a generous machine. */
const BUFFERED_BYTES_MAX = 16 * MIB;
/** What the API reads off behind an early answer, so that its client comes to read it. */
const READ_OFF_BYTES_MAX = 40 * MIB;
const HTTP_CHUNK = Buffer.concat([
  Buffer.from('10000\r\n'),
  Buffer.alloc(64 * KIB, ' '),
  Buffer.from('\r\n'),
]);
const SPACES = Buffer.alloc(64 * KIB, ' ');

interface Kind {
  readonly name: string;
  readonly status: number;
  readonly spoken: Spoken;
}

export const hostileClients: Experiment = {
  number: 42,
  title: 'API clients that dawdle, that send too much, without end, or compressed',
  shows: 'each is answered 408, 401, 413 or 400 and cut off; clients that behave are served all the while',
  runs: 'ci',
  async run(world) {
    await world.endpoint();
    await world.start('relay');
    await world.start('worker');
    const api = await world.start('api');
    const port = await api.port();
    const behaving = new AbortController();
    const mail = world.producer.mail(Infinity, { through: world.api, until: behaving.signal });
    const dawdling = Array.from({ length: world.scaled(SLOW_CLIENTS) }, () => converse(port, DAWDLER));
    for (const kind of kinds(world)) await answeredEarly(world, port, kind);
    const answers = await Promise.all(dawdling);
    const late = answers.filter(({ status }) => status === 408).length;
    world.claim(
      'every client that dawdles is answered 408',
      late === dawdling.length,
      `${late} of ${dawdling.length}`,
    );
    behaving.abort();
    await mail;
    const { log } = world.producer;
    const refused = log.filter(({ outcome }) => outcome !== 'ok').length;
    world.claim(
      'every message of a client that behaves is taken',
      log.length > 0 && refused === 0,
      `${log.length}`,
    );
    const [row] = await world.query<{ n: number }>('select count(*)::int as n from webhooks');
    world.claim('nothing that was refused is stored', row?.n === 1, `${row?.n} webhooks`);
    const slowest = Math.round(Math.max(...log.map(({ beganAtMs, endedAtMs }) => endedAtMs - beganAtMs)));
    world.note(`${log.length} messages meanwhile, the slowest answered in ${slowest} ms`);
  },
};

/** Half of a head, then a byte a second. */
const DAWDLER: Spoken = {
  head: 'GET /v1/webhooks HTTP/1.1\r\nHost: a\r\nX: ',
  piece: Buffer.from('x'),
  everyMs: 1_000,
};

function kinds({ api }: World): Kind[] {
  const key = `Authorization: ${api.authorization}`;
  const chunked = 'Transfer-Encoding: chunked';
  const webhook = gzipSync('{"endpoint":"https://hooks.invalid/"}');
  const head = (path: string, ...lines: string[]): string =>
    [`POST ${path} HTTP/1.1`, 'Host: a', 'Content-Type: application/json', ...lines, '', ''].join('\r\n');
  const tooLong = `Content-Length: ${64 * KIB + 1}`;
  const zipped = ['Content-Encoding: gzip', 'Connection: close', `Content-Length: ${webhook.length}`];
  const kind = (name: string, status: number, from: string, piece: Buffer, times?: number): Kind => ({
    name,
    status,
    spoken: { head: from, piece, ...(times === undefined ? {} : { times }) },
  });
  const big = head('/v1/emails', `Content-Length: ${32 * MIB}`);
  return [
    kind('32 MiB without a key', 401, big, SPACES, (32 * MIB) / SPACES.length),
    kind('chunks without a key or an end', 401, head('/v1/emails', chunked), HTTP_CHUNK),
    kind('64 KiB and a byte', 413, head('/v1/webhooks', key, tooLong), SPACES),
    kind('chunks without an end', 413, head('/v1/webhooks', key, chunked), HTTP_CHUNK),
    // Its length is known only when it is unpacked: nothing encoded is taken.
    kind('a gzip body', 400, head('/v1/webhooks', key, ...zipped), webhook, 1),
  ];
}

async function answeredEarly(world: World, port: number, { name, status, spoken }: Kind): Promise<void> {
  const count = world.scaled(CLIENTS_OF_EACH_KIND);
  const all: Conversation[] = await Promise.all(Array.from({ length: count }, () => converse(port, spoken)));
  const statuses = [...new Set(all.map((one) => one.status))];
  const before = Math.max(...all.map((one) => one.sentBeforeAnswerBytes));
  const most = Math.max(...all.map((one) => one.sentBytes));
  const early = before <= BUFFERED_BYTES_MAX && most <= READ_OFF_BYTES_MAX + BUFFERED_BYTES_MAX;
  world.claim(
    `${name}: answered ${status} before it is read, and cut off`,
    statuses.join() === String(status) && early,
    `${statuses.join(' ')} after ${Math.ceil(before / KIB)} KiB, ${Math.ceil(most / KIB)} KiB in all`,
  );
}
