import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import { underLoad } from './under-load.ts';
import { startCustomer } from './watchful-customer.ts';

const CUTS = 75;
const PAUSE_MS = 200;

export const sessionsTerminated: Experiment = {
  number: 17,
  title: 'pg_terminate_backend of a session chosen at random, five a second',
  shows: 'pools heal, and every outcome is recorded once: nothing is lost or made twice',
  runs: 'ci',
  async run(world) {
    const load = await underLoad(world, { processes: ['relay', 'worker', 'api'] });
    const customer = startCustomer(world);
    let ended = 0;
    for (let cut = 1; cut <= world.scaled(CUTS); cut += 1) {
      await world.fault('a session is ended', { mayRepeat: false }, async () => {
        const sessions = await world.query<{ pid: number }>(
          `select pid from pg_stat_activity
           where datname = current_database() and application_name like 'postrider%' order by pid`,
        );
        if (sessions.length === 0) return;
        await world.query('select pg_terminate_backend($1)', [world.random.pick(sessions).pid]);
        ended += 1;
      });
      await delay(PAUSE_MS);
    }
    await customer.served();
    await Promise.all([customer.stop(), load.stop()]);
    world.claim('sessions were ended', ended > 0, String(ended));
  },
};
