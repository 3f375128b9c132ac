import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import { inWords } from './arrival-times.ts';
import { startQuietTenants } from './quiet-tenants.ts';

const DEAD = 10_000;
const HEALTHY = 100;
const PER_SECOND_EACH = 0.5;
const ALONE_MS = 20_000;
/** No program uses port 9 (discard, RFC 863), so the connection is refused. */
const DEAD_PORT = 9;
const DRAINED_WITHIN_MS = 1_800_000;

export const manyDeadEndpoints: Experiment = {
  number: 32,
  title: '10,000 dead endpoints in retry beside 100 healthy ones',
  shows: 'healthy endpoints are served while the dead are tried, 8 times each',
  runs: 'long',
  deadlineSeconds: 2_700,
  async run(world) {
    const dead = world.scaled(DEAD);
    for (let made = 0; made < dead; made += 1) await world.endpoint({ url: deadUrl(made), mayGiveUp: true });
    await world.start('relay');
    await world.start('worker');
    const tenants = await startQuietTenants(world, {
      count: world.scaled(HEALTHY),
      perSecond: PER_SECOND_EACH,
    });
    await delay(world.scaled(ALONE_MS));
    const before = await tenants.servedSoFar();
    const quietMs = tenants.timesSinceLast();
    await world.producer.record(1);
    let served = before;
    while ((await world.outstandingOf(world.accountId)) > dead / 10) {
      served = await tenants.servedSoFar();
    }
    const meanwhile = served - before;
    world.claim('the healthy were served while the dead were tried', meanwhile > 0, `${meanwhile} events`);
    const troubledMs = tenants.timesSinceLast();
    world.noteNeighbours({ quietMs, troubledMs });
    world.note(`from commit to arrival: alone ${inWords(quietMs)}; beside the dead ${inWords(troubledMs)}`);
    await tenants.stop();
    await world.drained(DRAINED_WITHIN_MS);
    const exhausted = await world.count(`dead_letters where attempts = 8 and reason = 'attempts_exhausted'`);
    world.claim('each of the dead had its 8 attempts', exhausted === dead, `${exhausted} of ${dead}`);
  },
};

/** Spreads the endpoints over the half of 127.0.0.0/8 that workers do not refuse. */
function deadUrl(index: number): string {
  const [a, b, c] = [1 + (index % 126), Math.floor(index / 126) % 256, 1 + (index % 254)];
  return `https://127.${a}.${b}.${c}:${DEAD_PORT}/${index}`;
}
