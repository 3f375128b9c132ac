import { answer } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { World } from '../harness/world/world.ts';

const ATTEMPTS = 8;

export const goneAtEveryAttempt: Experiment = {
  number: 37,
  title: '410 on attempt n, for n from 1 to 8',
  shows: 'it stops at once: a dead letter with n attempts, `rejected`, and no request after it',
  runs: 'ci',
  async run(world) {
    await world.start('relay');
    await world.start('worker');
    const endpoints: Endpoint[] = [];
    for (let goneAt = 1; goneAt <= ATTEMPTS; goneAt += 1) {
      const endpoint = await world.endpoint({ mayGiveUp: true });
      // The reaction is chosen before the request is in the log.
      endpoint.reacts(() => answer(endpoint.receipts.length + 1 >= goneAt ? 410 : 503));
      endpoints.push(endpoint);
    }
    await world.producer.record(1);
    await world.drained();
    for (const [index, endpoint] of endpoints.entries()) await endedAt(world, endpoint, index + 1);
  },
};

async function endedAt(world: World, endpoint: Endpoint, goneAt: number): Promise<void> {
  const [letter] = await world.query<{ reason: string; attempts: number; status: number }>(
    'select reason, attempts, status_code as status from dead_letters where webhook_id = $1',
    [endpoint.webhookId],
  );
  const saw = `${letter?.reason ?? 'none'} after ${letter?.attempts ?? 0}, ${endpoint.receipts.length} requests`;
  const held =
    letter?.reason === 'rejected' && letter.attempts === goneAt && endpoint.receipts.length === goneAt;
  world.claim(`410 on attempt ${goneAt} ends it`, held && letter.status === 410, saw);
}
