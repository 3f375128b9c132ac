import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';
import { overlongRequests, SLOW_HEAD } from './hostile-requests.ts';
import type { HostileRequest } from './hostile-requests.ts';
import { converse } from './raw-client.ts';
import type { Conversation } from './raw-client.ts';

const SLOW_CLIENTS = 500;
const CLIENTS_OF_EACH_KIND = 20;
/** The share of its messages that the client that behaves must get accepted. */
const TAKEN_SHARE = 0.95;
const KIB = 1024;
const MIB = 1024 * KIB;
/** The most that the buffers between client and API hold. */
const BUFFERED_BYTES_MAX = 16 * MIB;
/** The most that the API reads after an early answer, so that the client reads the answer. */
const READ_OFF_BYTES_MAX = 40 * MIB;

export const hostileClients: Experiment = {
  number: 42,
  title: 'API clients that dawdle, that send too much, without end, or compressed',
  shows: 'each gets 408, 401, 413 or 400 and is disconnected; other clients are served all the while',
  runs: 'ci',
  async run(world) {
    await world.endpoint();
    await world.start('relay');
    await world.start('worker');
    const api = await world.start('api');
    const port = await api.port();
    const behaving = new AbortController();
    const mail = world.producer.mail(Infinity, { through: world.api, until: behaving.signal });
    const dawdling = Array.from({ length: world.scaled(SLOW_CLIENTS) }, () => converse(port, SLOW_HEAD));
    for (const request of overlongRequests(world)) await answeredEarly(world, port, request);
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
    const taken = log.filter(({ outcome }) => outcome === 'ok').length;
    // The API refuses when Redis does not count within 250 ms. On a busy machine this happens to a few.
    world.claim(
      'the messages of a client that behaves are taken',
      taken >= TAKEN_SHARE * log.length && taken > 0,
      `${taken} of ${log.length}`,
    );
    const stored = (await world.count('webhooks')) + (await world.count('emails'));
    world.claim('nothing that was refused is stored', stored === 1 + taken, `${stored} rows`);
    const slowest = Math.round(Math.max(...log.map(({ beganAtMs, endedAtMs }) => endedAtMs - beganAtMs)));
    world.note(`${log.length} messages meanwhile, the slowest answered in ${slowest} ms`);
  },
};

async function answeredEarly(
  world: World,
  port: number,
  { name, status, spoken }: HostileRequest,
): Promise<void> {
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
