import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { queueAtOnce } from './queue-at-once.ts';
import { inWords } from './arrival-times.ts';
import { startQuietTenants } from './quiet-tenants.ts';

const FLOOD = 200_000;
const TENANTS = 100;
const PER_SECOND_EACH = 1;
const ALONE_MS = 20_000;
const DRAINED_WITHIN_MS = 3_000_000;

export const floodBesideQuietTenants: Experiment = {
  number: 33,
  title: 'one account floods 200,000 events beside 100 accounts at one a second',
  shows: 'the quiet accounts are served while the flood waits, and the flood arrives whole',
  runs: 'long',
  deadlineSeconds: 3_600,
  async run(world) {
    const flooded = await world.endpoint({ reaction: takingMs(5, answer(200)) });
    await world.start('relay');
    await world.start('worker');
    const tenants = await startQuietTenants(world, {
      count: world.scaled(TENANTS),
      perSecond: PER_SECOND_EACH,
    });
    await delay(world.scaled(ALONE_MS));
    const before = await tenants.servedSoFar();
    const quietMs = tenants.timesSinceLast();
    const flood = world.scaled(FLOOD);
    await queueAtOnce(world, flood);
    let served = before;
    const waiting = (): Promise<number> =>
      world.count('deliveries where webhook_id = $1', [flooded.webhookId]);
    while ((await waiting()) > flood / 10) {
      served = await tenants.servedSoFar();
    }
    const meanwhile = served - before;
    world.claim('the quiet were served while the flood waited', meanwhile > 0, `${meanwhile} events`);
    const troubledMs = tenants.timesSinceLast();
    world.noteNeighbours({ quietMs, troubledMs });
    world.note(`from commit to arrival: alone ${inWords(quietMs)}; beside the flood ${inWords(troubledMs)}`);
    await tenants.stop();
    await world.drained(DRAINED_WITHIN_MS);
    const { length } = flooded.receipts;
    world.claim('the flood arrived whole', length >= flood, `${length} of ${flood}`);
  },
};
