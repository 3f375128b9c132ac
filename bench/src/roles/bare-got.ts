import { createHmac } from 'node:crypto';
import { Agent } from 'node:https';
import got from 'got';
import { monotonicMs } from '../monotonic.ts';
import { atSteadyRate } from './steady-rate.ts';

/** What one burst cost. */
export interface BareCost {
  readonly seconds: number;
  /** CPU of this one process, user and system, all its threads. */
  readonly cpuSeconds: number;
}

export interface BareCommands extends Record<string, (argument: never) => unknown> {
  /** Posts `count` events as fast as `concurrency` posts in flight allow. */
  readonly burst: (wish: {
    readonly url: string;
    readonly body: string;
    readonly count: number;
    readonly concurrency: number;
  }) => Promise<BareCost>;
  /** Posts events at a steady rate. @returns each one's id, and when its post was called */
  readonly pace: (wish: {
    readonly url: string;
    readonly body: string;
    readonly perSecond: number;
    readonly seconds: number;
  }) => Promise<[id: string, calledAtMs: number][]>;
}

const SECRET = `whsec_${'b'.repeat(43)}`;

/**
 * The yardstick: signed bodies of a delivery's size posted by got with keep-alive over TLS, and nothing else. Options
 * are merged once; no post waits for anything but the receiver.
 */
export function bareCommands(): BareCommands {
  const agent = new Agent({ keepAlive: true });
  const client = got.extend({
    agent: { https: agent },
    retry: { limit: 0 },
    followRedirect: false,
    decompress: false,
    headers: { 'content-type': 'application/json', 'accept-encoding': undefined },
  });
  let posted = 0;

  async function post(url: string, body: Buffer): Promise<[id: string, calledAtMs: number]> {
    posted += 1;
    const id = `evt_bare_${posted}`;
    const calledAtMs = monotonicMs();
    const t = Math.floor(Date.now() / 1000);
    const v1 = createHmac('sha256', SECRET).update(`${t}.`).update(body).digest('hex');
    await client.post(url, {
      body,
      headers: {
        'service-signature': `t=${t},v1=${v1}`,
        'service-event-id': id,
        'service-event-type': 'email.sent',
      },
    });
    return [id, calledAtMs];
  }

  return {
    async burst({ url, body, count, concurrency }) {
      const bytes = Buffer.from(body);
      const cpuBefore = process.cpuUsage();
      const begun = monotonicMs();
      let left = count;
      const lane = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          await post(url, bytes);
        }
      };
      await Promise.all(Array.from({ length: concurrency }, lane));
      const seconds = (monotonicMs() - begun) / 1000;
      const cpu = process.cpuUsage(cpuBefore);
      return { seconds, cpuSeconds: (cpu.user + cpu.system) / 1e6 };
    },
    pace: ({ url, body, perSecond, seconds }) => {
      const bytes = Buffer.from(body);
      return atSteadyRate({ perSecond, seconds }, () => post(url, bytes));
    },
  };
}
