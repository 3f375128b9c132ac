import { after, answer } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';

export const sigtermWithRedisDown: Experiment = {
  number: 40,
  title: 'SIGTERM while Redis is down, with attempts in flight',
  shows: 'relay, worker and API finish their work in flight and exit 0 in time; nothing is made twice',
  runs: 'ci',
  async run(world) {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const endpoint = await world.endpoint({ reaction: after(opened, answer(200)) });
    const api = await world.start('api');
    const relay = await world.start('relay');
    const worker = await world.start('worker');
    await world.producer.record(1);
    await endpoint.arrived(1);
    await world.fault('kill -9 redis', { mayRepeat: false }, () => world.redis.kill());
    const stopping = [api, relay, worker].map((process) => world.stop(process));
    await world.until('the worker to be stopping', () =>
      worker.log.some((line) => line['msg'] === 'stopping'),
    );
    open();
    await Promise.all(stopping);
    const outstanding = await world.count('deliveries');
    world.claim('the attempt in flight was recorded', outstanding === 0, `${outstanding} outstanding`);
    await world.redis.start();
    const restarted = await Promise.all([world.start('api'), world.start('relay'), world.start('worker')]);
    world.claim(
      'all start again',
      restarted.every((process) => process.running),
    );
    await world.producer.record(1);
    await world.drained();
  },
};
