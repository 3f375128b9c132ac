import { answer, hang } from '@postrider/testing';
import type { Direction, SystemProcess } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { ServerProxy, World } from '../harness/world/world.ts';
import { holdAt } from './hold-at.ts';

/** A moment in an attempt, at which the worker is killed. */
interface Moment {
  readonly name: string;
  /** How often the endpoint then gets the event. */
  readonly requests: number;
  /** Sets the trap, records an event, and resolves when its attempt stands still at this moment. */
  reach(parts: { database: ServerProxy; endpoint: Endpoint; record: () => Promise<unknown> }): Promise<void>;
}

const MOMENTS: readonly Moment[] = [
  { name: 'before it takes the row', requests: 1, reach: onStatement('take-deliveries', 'toServer') },
  { name: 'after it took the row', requests: 1, reach: onStatement('take-deliveries', 'toClient') },
  {
    name: 'while it connects',
    requests: 1,
    async reach({ endpoint, record }) {
      endpoint.proxy?.hold();
      await record();
      await endpoint.connected();
    },
  },
  {
    name: 'after the request was sent',
    requests: 2,
    async reach({ endpoint, record }) {
      endpoint.reacts(hang());
      await record();
      await endpoint.arrived(1);
    },
  },
  { name: 'after a 2xx, before it is recorded', requests: 2, reach: onStatement('finish-done', 'toServer') },
  { name: 'after a 2xx was recorded', requests: 1, reach: onStatement('finish-done', 'toClient') },
];

export const workerKilledAtEveryStage: Experiment = {
  number: 5,
  title: 'kill -9 the worker at every stage of an attempt',
  shows: 'nothing is lost; an event arrives twice only where its request had been sent and not recorded',
  runs: 'ci',
  async run(world) {
    await world.start('relay');
    const database = await world.proxy('postgres');
    const start = () => world.start('worker', { through: [database] });
    let worker = await start();
    for (const moment of world.random.some(MOMENTS, world.scaled(MOMENTS.length))) {
      worker = await dieAt(moment, { world, database, worker, start });
    }
  },
};

interface Parts {
  readonly world: World;
  /** The proxy between the workers and Postgres. */
  readonly database: ServerProxy;
  readonly worker: SystemProcess;
  readonly start: () => Promise<SystemProcess>;
}

/** @returns the successor, which has delivered the event */
async function dieAt(moment: Moment, { world, database, worker, start }: Parts): Promise<SystemProcess> {
  const accountId = await world.newAccount();
  const endpoint = await world.endpoint({ accountId, proxied: true });
  await moment.reach({ endpoint, database, record: () => world.producer.record(1, { accountId }) });
  await world.kill(worker);
  database.cut();
  endpoint.proxy?.pass();
  endpoint.reacts(answer(200));
  const successor = await start();
  await world.drained();
  const { length } = endpoint.receipts;
  world.claim(
    `killed ${moment.name}: ${moment.requests} requests`,
    length === moment.requests,
    String(length),
  );
  return successor;
}

function onStatement(name: string, holds: Direction): Moment['reach'] {
  return async ({ database, record }) => {
    const reached = holdAt(database, name, holds);
    await record();
    await reached();
  };
}
