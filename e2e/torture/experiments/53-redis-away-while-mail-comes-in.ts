import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import { untilApiServes } from './until-api-serves.ts';
import { claimRecords, underMail } from './under-mail.ts';

const WIPES = 10;
const PAUSE_MS = 500;
const TAKEN_MEANWHILE = 20;

export const redisAwayWhileMailComesIn: Experiment = {
  number: 53,
  title: 'FLUSHALL and kill -9 of Redis while mail comes in',
  shows: 'mail is accepted all along, and every event arrives once when Redis is back',
  runs: 'ci',
  async run(world) {
    const load = await underMail(world);
    for (let wipe = 1; wipe <= world.scaled(WIPES); wipe += 1) {
      await world.fault('FLUSHALL', { mayRepeat: false }, () => world.redis.command('flushall'));
      await delay(PAUSE_MS);
    }
    const refusedBefore = world.sender.refused();
    const enough = world.sender.taken + TAKEN_MEANWHILE;
    await world.fault('kill -9 redis', { mayRepeat: false }, () => world.redis.kill());
    await world.until('mail to be taken without Redis', () => world.sender.taken >= enough);
    await world.redis.start();
    world.healed();
    await load.stop();
    const refused = world.sender.refused() - refusedBefore;
    world.claim('no sender was told to wait', refused === 0, String(refused));
    await untilApiServes(world);
    await claimRecords(world);
  },
};
