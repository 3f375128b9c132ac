import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';

const CRASHES = 4;
const DOWN_MS = 1_500;

export const postgresKilled: Experiment = {
  number: 16,
  title: 'kill -9 Postgres under load, and crash recovery',
  shows: 'every acknowledged cause exists; only attempts in flight may be repeated; pools reconnect',
  runs: 'ci',
  ownPostgres: true,
  async run(world) {
    const endpoint = await world.endpoint({ reaction: takingMs(20, answer(200)) });
    await world.start('relay');
    await world.start('worker');
    const crash = (mayRepeat: boolean): Promise<void> =>
      world.fault('kill -9 postgres', { mayRepeat }, async () => {
        world.postgres.kill();
        await delay(DOWN_MS);
        await world.postgres.start();
      });
    const load = world.producer.load({ perSecond: 40 });
    for (let nth = 1; nth <= world.scaled(CRASHES); nth += 1) {
      await endpoint.arrived(endpoint.receipts.length + 20);
      await crash(true);
    }
    await load.stop();
    // No later commit writes to disk. If an outcome is not on disk by now, its event is sent again.
    await world.producer.record(20);
    await world.drained();
    await crash(false);
  },
};
