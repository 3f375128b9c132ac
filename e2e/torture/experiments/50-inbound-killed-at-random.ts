import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import { claimRecords, underMail } from './under-mail.ts';

const KILLS = 12;
const TAKEN_MAX = 12;
const MORE_MS_MAX = 25;

export const inboundKilledAtRandom: Experiment = {
  number: 50,
  title: 'kill -9 the inbound process at random moments while mail comes in',
  shows:
    'a message answered 250 is one record and one event, with its bytes; another is accepted once, at a later try',
  runs: 'ci',
  async run(world) {
    const load = await underMail(world);
    let { inbound } = load;
    for (let kill = 1; kill <= world.scaled(KILLS); kill += 1) {
      const enough = world.sender.taken + world.random.between(0, TAKEN_MAX);
      await world.until('mail to be taken', () => world.sender.taken >= enough);
      await delay(world.random.between(0, MORE_MS_MAX));
      await world.kill(inbound);
      inbound = await world.start('inbound');
    }
    await load.stop();
    world.claim('some had to try again', world.sender.refused() > 0, String(world.sender.refused()));
    await claimRecords(world);
  },
};
