import { answer } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { statusOf } from '../harness/world/api-client.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { World } from '../harness/world/world.ts';

const AT_ONCE = 50;
const ROUNDS = 4;

interface Letter {
  readonly id: string;
  readonly event_id: string;
  readonly webhook: string;
}

export const fiftyReplaysAtOnce: Experiment = {
  number: 36,
  title: 'fifty replays of one dead letter at once, and replay against DELETE',
  shows:
    'exactly one answer is 200, the others are 404; the event keeps its id and gets a fresh set of attempts',
  runs: 'ci',
  async run(world) {
    const endpoint = await world.endpoint({ reaction: answer(410) });
    await world.start('relay');
    await world.start('worker');
    await world.start('api');
    for (let round = 1; round <= world.scaled(ROUNDS); round += 1) {
      await world.producer.record(1);
      await replayedOnce(world, endpoint, await soleLetter(world));
      endpoint.reacts(answer(410));
    }
    await world.producer.record(1);
    await replayAgainstDelete(world, endpoint, await soleLetter(world));
  },
};

async function replayedOnce(world: World, endpoint: Endpoint, letter: Letter): Promise<void> {
  endpoint.reacts(answer(200));
  const answered = await Promise.all(
    Array.from({ length: AT_ONCE }, () => world.api.request('POST', replayPath(letter))),
  );
  const statuses = answered.map(statusOf);
  const won = statuses.filter((status) => status === 200).length;
  const lost = statuses.filter((status) => status === 404).length;
  world.claim(
    'one of fifty replays is answered with 200, the others with 404',
    won === 1 && lost === AT_ONCE - 1,
    [...new Set(statuses)].join(' '),
  );
  if (won > 0) world.noteReplay(letter.event_id, letter.webhook);
  await world.drained();
  const times = endpoint.receipts.filter((receipt) => receipt.eventId === letter.event_id).length;
  world.claim('the event arrived once more, under its id', times === 2, String(times));
}

async function replayAgainstDelete(world: World, endpoint: Endpoint, letter: Letter): Promise<void> {
  endpoint.reacts(answer(200));
  const replaying = world.api.request('POST', replayPath(letter));
  await world.removing(endpoint, () => world.api.request('DELETE', `/v1/webhooks/${endpoint.webhookId}`));
  const answered = await replaying;
  const status = statusOf(answered);
  if (status === 200) world.noteReplay(letter.event_id, letter.webhook);
  world.claim('a replay that races DELETE is 200 or 404', status === 200 || status === 404, String(status));
  const left = (await world.count('dead_letters')) + (await world.count('deliveries'));
  world.claim('nothing of the deleted webhook is left', left === 0, String(left));
}

function replayPath(letter: Letter): string {
  return `/v1/webhooks/dead-letters/${letter.id}/replay`;
}

async function soleLetter(world: World): Promise<Letter> {
  let letters: readonly Letter[] = [];
  await world.until('the dead letter to be listed', async () => {
    const listed = await world.api.request('GET', '/v1/webhooks/dead-letters');
    if (listed.outcome === 'answered') letters = (listed.body as { data: Letter[] }).data;
    return letters.length === 1;
  });
  const [letter] = letters;
  if (letter === undefined) throw new Error('there is no dead letter');
  return letter;
}
