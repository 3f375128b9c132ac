import { answer, dripBody, dripHead, endlessBody, endlessHead, hang, interimFlood } from '@postrider/testing';
import type { Behaviour } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { TIMES } from '../harness/times.ts';
import type { World } from '../harness/world/world.ts';
import { residentBytes } from './resident-bytes.ts';

const EVENTS = 6;
const GROWTH_BYTES_MAX = 100 * 1024 * 1024;

/** Endpoints that never end, and the status of a complete head. A 2xx head decides, whatever follows. */
const ENDLESS: readonly (readonly [name: string, behaviour: Behaviour, status: number | null])[] = [
  ['never answers', hang(), null],
  ['drips its head', dripHead(), null],
  ['has an endless head', endlessHead(), null],
  ['sends interim heads for ever', interimFlood(), null],
  ['drips its body', dripBody(200), 200],
  ['has an endless body', endlessBody(200), 200],
];

export const endlessEndpoints: Experiment = {
  number: 25,
  title: 'endpoints that never end: no answer, endless heads, endless bodies',
  shows: 'every attempt ends by its deadline and frees its slot and its memory; a quiet endpoint is served',
  runs: 'ci',
  async run(world) {
    const quiet = await world.endpoint();
    const endpoints = [];
    for (const [name, reaction, status] of ENDLESS) {
      endpoints.push({ name, status, endpoint: await world.endpoint({ reaction }) });
    }
    await world.start('relay');
    const worker = await world.start('worker');
    await world.producer.record(1);
    await quiet.arrived(1);
    const before = await residentBytes(worker);
    await world.producer.record(world.scaled(EVENTS));
    await quiet.arrived(1 + world.scaled(EVENTS));
    for (const { endpoint } of endpoints) {
      const attempts = (): Promise<number> =>
        world.count('attempts where webhook_id = $1', [endpoint.webhookId]);
      await world.until('its attempts to end', async () => (await attempts()) > 0);
    }
    const grown = (await residentBytes(worker)) - before;
    world.claim('the worker has not grown', grown < GROWTH_BYTES_MAX, `${Math.round(grown / 1e6)} MB`);
    for (const { name, status, endpoint } of endpoints) {
      await attemptsEnded(world, name, endpoint.webhookId, status);
      endpoint.reacts(answer(200));
    }
  },
};

async function attemptsEnded(
  world: World,
  name: string,
  webhookId: string,
  status: number | null,
): Promise<void> {
  const attempts = await world.query<{ duration_ms: number; status: number | null }>(
    'select duration_ms, status from attempts where webhook_id = $1',
    [webhookId],
  );
  const longest = Math.max(...attempts.map((attempt) => attempt.duration_ms));
  const inTime = longest <= 2 * TIMES.attemptTimeoutMs;
  const hasStatus = attempts.every((attempt) => attempt.status === status);
  const saw = `${attempts.length} attempts, the longest ${longest} ms`;
  world.claim(`an endpoint that ${name} holds no slot beyond its time`, inTime && hasStatus, saw);
}
