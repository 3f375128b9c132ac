import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';
import { portsWithoutTls, serversWithWrongTls } from './tls-faults.ts';
import type { TlsFault } from './tls-faults.ts';

const EVENTS = 3;
/** The first byte of a TLS record of a handshake. The first record of a worker is one. */
const HANDSHAKE_RECORD = 22;
/** Text that a request without TLS would show. */
const PLAIN_TEXT = /POST \/|HTTP\/1|content-type|[Ss]ervice-[Ss]ignature|email\.sent/;

export const brokenTls: Experiment = {
  number: 28,
  title: 'TLS that must not be trusted, is too old, stalls, or is none',
  shows: 'each is a failed attempt whose error says why; not a byte of the request leaves the worker',
  runs: 'ci',
  async run(world) {
    const healthy = await world.endpoint();
    const faulty = [...(await serversWithWrongTls(world)), ...(await portsWithoutTls(world))];
    try {
      await world.start('relay');
      await world.start('worker');
      await world.producer.record(world.scaled(EVENTS));
      await healthy.arrived(world.scaled(EVENTS));
      await world.drained();
      for (const each of faulty) await failedClearly(world, each);
    } finally {
      const servers = faulty.flatMap(({ line, receiver }) => (receiver === null ? line : [line, receiver]));
      await Promise.all(servers.map((server) => server.close()));
    }
  },
};

async function failedClearly(
  world: World,
  { name, lastError, endpoint, line, receiver }: TlsFault,
): Promise<void> {
  const letters = await world.query<{ error: string; attempts: number; status: number | null }>(
    'select last_error as error, attempts, status_code as status from dead_letters where webhook_id = $1',
    [endpoint.webhookId],
  );
  const errors = [...new Set(letters.map(({ error }) => error))].join(', ');
  const held = letters.every(({ error, attempts, status }) => {
    return lastError.test(error) && attempts > 1 && status === null;
  });
  const all = letters.length === world.scaled(EVENTS);
  world.claim(`${name}: ends as a dead letter whose error says why`, held && all, errors);
  const { received } = line;
  const onlyHandshake = received[0] === HANDSHAKE_RECORD && !PLAIN_TEXT.test(received.toString('latin1'));
  const requests = receiver?.requests.length ?? 0;
  world.claim(
    `${name}: nothing of a request is sent, plain or sealed`,
    onlyHandshake && requests === 0,
    `${line.connections} connections, ${requests} requests`,
  );
}
