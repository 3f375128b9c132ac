import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { statusOf } from '../harness/world/api-client.ts';
import type { World } from '../harness/world/world.ts';

const WEBHOOKS = 12;
const EVENTS_BEFORE = 15;

export const webhookDeletedUnderWay: Experiment = {
  number: 35,
  title: 'DELETE of a webhook while its deliveries, retries and replays are in flight',
  shows: 'no attempt begins after DELETE has answered; causes and other endpoints are not affected',
  runs: 'ci',
  async run(world) {
    const staying = await world.endpoint();
    await world.start('relay');
    await world.start('worker');
    await world.start('api');
    const load = world.producer.load({ perSecond: 40 });
    for (let round = 1; round <= world.scaled(WEBHOOKS); round += 1) await deleteOneOf(world, round);
    await load.stop();
    await world.drained();
    world.claim('the endpoint that stays got events all the while', staying.receipts.length > 0);
    const left = await world.count(
      'dead_letters l where not exists (select from webhooks w where w.id = l.webhook_id)',
    );
    world.claim('its dead letters go with a webhook', left === 0, String(left));
  },
};

/** Deletes a webhook, in turn amid deliveries, amid retries, or while its dead letters are replayed. */
async function deleteOneOf(world: World, round: number): Promise<void> {
  const reactions = [takingMs(30, answer(200)), answer(503), answer(410)];
  const doomed = await world.endpoint({ reaction: reactions[round % reactions.length] ?? answer(200) });
  await doomed.arrived(EVENTS_BEFORE);
  const replaying = round % reactions.length === 2 ? replayAll(world) : Promise.resolve();
  await world.removing(doomed, async () => {
    const answered = await world.api.request('DELETE', `/v1/webhooks/${doomed.webhookId}`);
    const status = statusOf(answered);
    world.claim('DELETE answers 200', status === 200, String(status));
  });
  await replaying;
}

async function replayAll(world: World): Promise<void> {
  const listed = await world.api.request('GET', '/v1/webhooks/dead-letters');
  if (listed.outcome !== 'answered') return;
  const { data } = listed.body as { data: { id: string; event_id: string; webhook: string }[] };
  await Promise.all(
    data.map(async (letter) => {
      const answered = await world.api.request('POST', `/v1/webhooks/dead-letters/${letter.id}/replay`);
      if (answered.outcome !== 'answered') return;
      if (answered.status === 200) world.noteReplay(letter.event_id, letter.webhook);
    }),
  );
}
