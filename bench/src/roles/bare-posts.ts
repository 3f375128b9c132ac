import { createHmac } from 'node:crypto';
import { inParallel } from '@postrider/testing';
import { monotonicMs } from '../monotonic.ts';
import { bareClients } from './bare-client.ts';
import type { BareClientName, BarePost } from './bare-client.ts';
import { atSteadyRate } from './steady-rate.ts';

/** The cost of one burst. */
export interface BareCost {
  readonly seconds: number;
  /** User and system CPU of this process, all threads. */
  readonly cpuSeconds: number;
}

export interface BareCommands extends Record<string, (argument: never) => unknown> {
  /** Posts `count` events as fast as `concurrency` allows. */
  readonly burst: (wish: {
    readonly client: BareClientName;
    readonly url: string;
    readonly body: string;
    readonly count: number;
    readonly concurrency: number;
  }) => Promise<BareCost>;
  /** Posts events at a steady rate with got. @returns the id of each, and when it was due */
  readonly pace: (wish: {
    readonly url: string;
    readonly body: string;
    readonly perSecond: number;
    readonly seconds: number;
  }) => Promise<[id: string, dueAtMs: number][]>;
}

const SECRET = `whsec_${'b'.repeat(43)}`;

/** The yardsticks: posts of signed bodies of a delivery's size. A post waits only for the receiver. */
export function bareCommands(): BareCommands {
  const clients = new Map<BareClientName, BarePost>();
  let posted = 0;

  function clientOf(name: BareClientName): BarePost {
    const client = clients.get(name) ?? bareClients[name]();
    clients.set(name, client);
    return client;
  }

  /** @returns the id of the event */
  async function post(client: BarePost, url: string, body: Buffer): Promise<string> {
    posted += 1;
    const id = `evt_bare_${posted}`;
    const t = Math.floor(Date.now() / 1000);
    const v1 = createHmac('sha256', SECRET).update(`${t}.`).update(body).digest('hex');
    await client(url, body, {
      'service-signature': `t=${t},v1=${v1}`,
      'service-event-id': id,
      'service-event-type': 'email.sent',
    });
    return id;
  }

  return {
    async burst({ client, url, body, count, concurrency }) {
      const bytes = Buffer.from(body);
      const send = clientOf(client);
      const cpuBefore = process.cpuUsage();
      const begun = monotonicMs();
      await inParallel({ count, concurrency }, () => post(send, url, bytes));
      const seconds = (monotonicMs() - begun) / 1000;
      const cpu = process.cpuUsage(cpuBefore);
      return { seconds, cpuSeconds: (cpu.user + cpu.system) / 1e6 };
    },
    pace: ({ url, body, perSecond, seconds }) => {
      const bytes = Buffer.from(body);
      return atSteadyRate({ perSecond, seconds }, async (_, dueAtMs) => [
        await post(clientOf('got'), url, bytes),
        dueAtMs,
      ]);
    },
  };
}
