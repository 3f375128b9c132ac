import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { numberInInfo } from '@postrider/testing';
import { Redis } from 'ioredis';

/** A private Redis without storage: after a kill it starts empty. */
export interface PrivateRedis {
  readonly url: string;
  readonly port: number;
  /** Runs a command on the harness's own connection, past every proxy. */
  command(name: string, ...args: (string | number)[]): Promise<unknown>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port. @param args such as `--maxmemory`, `10mb` */
  start(...args: string[]): Promise<void>;
  /** SIGSTOP: connections stay open and get no answer. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

export async function usedMemoryBytes(redis: Pick<PrivateRedis, 'command'>): Promise<number> {
  return numberInInfo(await redis.command('info', 'memory'), 'used_memory');
}

export async function startPrivateRedis(): Promise<PrivateRedis> {
  let running: RunningRedis = await startRedis();
  const { url, port } = running;
  let client: Redis | null = null;

  function forgetClient(): void {
    client?.disconnect();
    client = null;
  }

  return {
    url,
    port,
    async command(name, ...args) {
      if (client === null) {
        client = new Redis(url, { maxRetriesPerRequest: 1 });
        client.on('error', () => undefined); // the command that fails says so
      }
      return client.call(name, ...args);
    },
    async kill() {
      forgetClient();
      running.kill('SIGKILL');
      await running.stop(); // it is dead; this waits until its port is free
    },
    async start(...args) {
      running = await startRedis({ port, args });
    },
    pause: () => running.pause(),
    resume: () => running.resume(),
    async stop() {
      forgetClient();
      await running.stop();
    },
  };
}
