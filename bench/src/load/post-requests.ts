import { Agent, request } from 'node:http';
import { inParallel } from '@postrider/testing';
import { atSteadyRate } from '../roles/steady-rate.ts';

export interface PostLoad {
  readonly port: number;
  readonly key: string;
  readonly path: string;
  /** The JSON of one request, by its number. */
  readonly bodyOf: (number: number) => Buffer;
  /** The expected status of every answer. */
  readonly status: number;
  readonly count: number;
  /** Requests in flight, each on its own kept connection. */
  readonly concurrency: number;
}

/** Makes requests as fast as this concurrency allows. @throws Error for another status */
export async function postRequests(load: PostLoad): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: load.concurrency });
  try {
    await inParallel(load, (index) => post(agent, load, load.bodyOf(index + 1)));
  } finally {
    agent.destroy();
  }
}

/**
 * Makes requests at a steady rate, in an open loop. @returns when each was due. @throws like `postRequests`
 */
export async function postAtRate(
  load: Omit<PostLoad, 'count' | 'concurrency'>,
  rate: { readonly perSecond: number; readonly seconds: number },
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true });
  try {
    return await atSteadyRate(rate, async (index, dueAtMs) => {
      await post(agent, load, load.bodyOf(index + 1));
      return dueAtMs;
    });
  } finally {
    agent.destroy();
  }
}

function post(
  agent: Agent,
  { port, key, path, status }: Pick<PostLoad, 'port' | 'key' | 'path' | 'status'>,
  body: Buffer,
): Promise<void> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': body.length,
  };
  return new Promise((resolve, reject) => {
    const asked = request({ agent, port, host: '127.0.0.1', method: 'POST', path, headers });
    asked.once('error', reject);
    asked.once('response', (response) => {
      response.resume();
      response.once('error', reject);
      response.once('end', () => {
        if (response.statusCode === status) resolve();
        else reject(new Error(`POST ${path} was answered with ${response.statusCode}`));
      });
    });
    asked.end(body);
  });
}
