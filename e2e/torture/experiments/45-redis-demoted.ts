import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import { startPrivateRedis } from '../harness/servers/redis.ts';
import { untilApiServes } from './until-api-serves.ts';
import { underLoad } from './under-load.ts';

const READ_ONLY_MS = 10_000;
const MAILS = 10;

export const redisDemoted: Experiment = {
  number: 45,
  title:
    'Redis is made a replica with all connections alive; its address moves to the new primary 10 s later',
  shows: 'api, relay and worker leave the demoted server by themselves, without a restart; nothing is lost',
  runs: 'ci',
  async run(world) {
    const line = await world.proxy('redis');
    const demoted = await startPrivateRedis();
    line.moveTo(demoted.port);
    try {
      const through = { api: [line], relay: [line], worker: [line] };
      const load = await underLoad(world, { processes: ['relay', 'worker', 'api'], through });
      await world.producer.mail(MAILS, { through: world.api });
      await world.fault('REPLICAOF', { mayRepeat: false }, () =>
        demoted.command('replicaof', '127.0.0.1', world.redis.port),
      );
      await delay(world.scaled(READ_ONLY_MS));
      line.moveTo(world.redis.port);
      world.healed();
      await untilApiServes(world);
      await world.producer.mail(MAILS, { through: world.api });
      await load.stop();
      await world.drained(); // by the new primary alone, before the old one goes
    } finally {
      await demoted.stop();
    }
  },
};
