import { createHmac } from 'node:crypto';
import { Agent } from 'node:https';
import got from 'got';

/** What one run cost. */
export interface Cost {
  readonly count: number;
  readonly seconds: number;
  /** CPU of the one process that sent, user and system, all its threads. */
  readonly cpuSeconds: number;
}

export interface BareGotOptions {
  readonly url: string;
  readonly count: number;
  readonly concurrency: number;
  readonly body: string;
}

/** The share of the posts that is sent before the clock starts: connections up, code warm. */
const WARM_UP_SHARE = 0.1;

/**
 * The yardstick: the same signed bytes, posted by got with keep-alive and nothing else. Run in a process of its own.
 */
export async function postBare(options: BareGotOptions): Promise<Cost> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.concurrency });
  const client = got.extend({
    agent: { https: agent },
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    headers: { 'content-type': 'application/json', 'accept-encoding': undefined },
    timeout: { request: 10_000 },
  });
  const body = Buffer.from(options.body);

  async function send(count: number): Promise<void> {
    let left = count;
    const lane = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const t = Math.floor(Date.now() / 1000);
        const v1 = createHmac('sha256', 'whsec_bench').update(`${t}.`).update(body).digest('hex');
        await client.post(options.url, { body, headers: { 'service-signature': `t=${t},v1=${v1}` } });
      }
    };
    await Promise.all(Array.from({ length: options.concurrency }, lane));
  }

  await send(Math.ceil(options.count * WARM_UP_SHARE));
  const cpuBefore = process.cpuUsage();
  const begun = performance.now();
  await send(options.count);
  const seconds = (performance.now() - begun) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  agent.destroy();
  return { count: options.count, seconds, cpuSeconds: (cpu.user + cpu.system) / 1_000_000 };
}
