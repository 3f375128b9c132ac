import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import { statusOf } from '../harness/world/api-client.ts';
import type { World } from '../harness/world/world.ts';
import { untilApiServes } from './until-api-serves.ts';
import { underLoad } from './under-load.ts';

const DOWN_MS = 20_000;
const MAILS = 10;
const SUPPRESSED = 'suppressed@example.com';

export const redisKilledAndEmpty: Experiment = {
  number: 10,
  title: 'kill -9 Redis under load, 20 s away, back empty',
  shows: 'causes still commit, limited HTTP routes answer 429, and nothing is lost or made twice',
  runs: 'ci',
  async run(world) {
    const load = await underLoad(world, { processes: ['relay', 'worker', 'api'] });
    await world.producer.mail(MAILS, { through: world.api });
    const before = world.producer.log.length;
    await world.fault('kill -9 redis', { mayRepeat: false }, () => world.redis.kill());
    await refusedMeanwhile(world);
    await acceptedMeanwhile(world);
    await delay(world.scaled(DOWN_MS));
    const committed = okSince(world, before);
    world.claim('causes were committed while Redis was away', committed > 0, String(committed));
    await world.redis.start();
    world.healed();
    await load.stop();
    await untilApiServes(world);
    const healed = world.producer.log.length;
    await world.producer.mail(MAILS, { through: world.api });
    const sent = okSince(world, healed);
    // The limiter may need longer than its time for one of them while the backlog drains.
    world.claim('mail is accepted when Redis is back', sent > 0, `${sent} of ${MAILS}`);
  },
};

function okSince({ producer }: World, before: number): number {
  return producer.log.slice(before).filter(({ outcome }) => outcome === 'ok').length;
}

/** No limit applies to this route. Its event is a cause like those of the producer. */
async function acceptedMeanwhile(world: World): Promise<void> {
  const answered = await world.api.request('POST', '/v1/suppressions', { email: SUPPRESSED });
  const status = statusOf(answered);
  world.claim(
    'a route without a limit commits its cause while Redis is away',
    status === 201,
    String(status),
  );
  await world.query(
    `insert into torture.causes select 'suppression', id from events where data::json ->> 'to' = $1`,
    [SUPPRESSED],
  );
}

/** A request that cannot be counted is refused, and one that is refused leaves nothing behind. */
async function refusedMeanwhile(world: World): Promise<void> {
  const answered = await world.api.request('POST', '/v1/webhooks', { endpoint: 'https://127.0.0.1:1/' });
  const status = statusOf(answered);
  world.claim('a limited route answers 429 while Redis is away', status === 429, String(status));
  const stored = await world.count('webhooks where endpoint = $1', ['https://127.0.0.1:1/']);
  world.claim('what was refused is not stored', stored === 0, String(stored));
}
