import { setTimeout as delay } from 'node:timers/promises';
import { answer, answerThenResetNext } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';

const EVENTS = 40;
const PAUSE_MS = 150;

export const staleConnections: Experiment = {
  number: 31,
  title: 'an endpoint that resets a kept connection as the next request arrives',
  shows: 'a stale kept connection is not the customer’s failure: no attempt is counted for it',
  runs: 'ci',
  async run(world) {
    const endpoint = await world.endpoint();
    let resets = 0;
    const resetsNext = answerThenResetNext(200, () => (resets += 1));
    endpoint.reacts(() => (endpoint.receipts.length % 2 === 0 ? resetsNext : answer(200)));
    await world.start('relay');
    await world.start('worker');
    for (let event = 1; event <= world.scaled(EVENTS); event += 1) {
      await world.producer.record(1);
      await delay(PAUSE_MS); // the connection is idle again, and is chosen for the next
    }
    await world.drained();
    world.claim('kept connections were reset', resets > 0, `${resets} times`);
    const failed = await world.count('attempts where status is distinct from 200');
    world.claim('no attempt failed', failed === 0, String(failed));
  },
};
