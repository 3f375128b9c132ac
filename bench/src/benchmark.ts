import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer, startPostgres, startRedis } from '@postrider/embedded';
import { migrateQueueSchema } from '@postrider/queue';
import { migrate } from '@postrider/store';
import { startSystem } from '@postrider/testing';
import type { System, SystemProcess } from '@postrider/testing';
import type { Cost } from './bare-got.ts';
import { postBareInProcess } from './bare-got-process.ts';
import { openDatabase } from './database.ts';
import { drain } from './drain.ts';
import { measureLatency, quantile } from './latency.ts';
import type { Latency } from './latency.ts';
import { startReceiver } from './receiver.ts';
import type { Receiver } from './receiver.ts';

export interface BenchmarkOptions {
  readonly events: number;
  readonly rounds: number;
  readonly resultFile: string;
}

/** Posts in flight, of the yardstick and at most of the worker. */
const CONCURRENCY = 64;
const LATENCY_PER_SECOND = 200;
const LATENCY_COUNT = 2_000;
/** About what an `email.delivered` event carries. */
const DATA = JSON.stringify({
  email_id: 'em_bench',
  from: 'a@example.com',
  subject: 'x'.repeat(300),
  error: null,
});

interface Round {
  readonly bare: Cost;
  readonly postrider: Cost;
}

/** Starts everything in private, runs the rounds, prints the figures and writes them as JSON. */
export async function runBenchmark(options: BenchmarkOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), durable: true, throwAway: true });
  const redis = findRedisServer() === null ? null : await startRedis();
  try {
    await migrate(postgres.url);
    await migrateQueueSchema(postgres.url);
    const system = await startSystem({
      database: openDatabase(postgres.url),
      ...(redis === null ? {} : { redisUrl: redis.url }),
      env: { LOG_LEVEL: 'info' },
    });
    try {
      await measure(system, options, folder, redis === null ? 'postgres' : 'redis');
    } finally {
      await system.close();
    }
  } finally {
    await redis?.stop();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(
  system: System,
  options: BenchmarkOptions,
  folder: string,
  queue: string,
): Promise<void> {
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, system.authority.caPem);
  const receiver = await startReceiver(system.authority);
  try {
    const webhook = await system.webhook(receiver.url);
    await system.start('relay');
    const worker = await system.start('worker');
    say(`warming up (queue in ${queue}, ${options.rounds} rounds of ${options.events} events)`);
    await oneRound(system, receiver, worker, { ...options, webhookId: webhook.id, caFile, events: 1_000 });
    const rounds: Round[] = [];
    for (let round = 1; round <= options.rounds; round += 1) {
      rounds.push(await oneRound(system, receiver, worker, { ...options, webhookId: webhook.id, caFile }));
      say(`round ${round} of ${options.rounds}: ${describe(rounds.at(-1))}`);
    }
    const latency = await measureLatency(system, receiver, {
      perSecond: LATENCY_PER_SECOND,
      count: LATENCY_COUNT,
    });
    publish({ queue, rounds, latency, resultFile: options.resultFile });
  } finally {
    await receiver.close();
  }
}

async function oneRound(
  system: System,
  receiver: Receiver,
  worker: SystemProcess,
  options: { webhookId: string; caFile: string; events: number },
): Promise<Round> {
  const bare = await postBareInProcess(
    { url: receiver.url, count: options.events, concurrency: CONCURRENCY, body: DATA },
    options.caFile,
  );
  const postrider = await drain(system, receiver, {
    webhookId: options.webhookId,
    count: options.events,
    data: DATA,
    workerCpuSeconds: () => cpuSecondsOf(worker),
  });
  return { bare, postrider };
}

/** From the process's own metrics: the same on every platform. */
async function cpuSecondsOf(process: SystemProcess): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${await process.port()}/metrics`);
  const line = /^process_cpu_seconds_total(?:\{.*\})? (\S+)/m.exec(await answer.text());
  return Number(line?.[1]);
}

function cpuMicros(cost: Cost): number {
  return (cost.cpuSeconds / cost.count) * 1_000_000;
}

function perSecond(cost: Cost): number {
  return cost.count / cost.seconds;
}

function describe(round: Round | undefined): string {
  if (round === undefined) return '';
  const { bare, postrider } = round;
  return (
    `CPU ${cpuMicros(postrider).toFixed(0)} us a delivery, bare got ${cpuMicros(bare).toFixed(0)} us ` +
    `(${(cpuMicros(postrider) / cpuMicros(bare)).toFixed(2)} x); ` +
    `${perSecond(postrider).toFixed(0)}/s, bare got ${perSecond(bare).toFixed(0)}/s ` +
    `(${(perSecond(postrider) / perSecond(bare)).toFixed(2)} x)`
  );
}

function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}

function publish(result: {
  queue: string;
  rounds: readonly Round[];
  latency: Latency;
  resultFile: string;
}): void {
  const { rounds, latency } = result;
  const cpuRatio = median(rounds.map((round) => cpuMicros(round.postrider) / cpuMicros(round.bare)));
  const rateRatio = median(rounds.map((round) => perSecond(round.postrider) / perSecond(round.bare)));
  const machine = { cores: cpus().length, cpu: cpus()[0]?.model ?? 'unknown', node: process.version };
  writeFileSync(
    result.resultFile,
    `${JSON.stringify({ machine, queue: result.queue, cpuRatio, rateRatio, latencyMs: latency, rounds }, null, 2)}\n`,
  );
  process.stdout.write(
    [
      '',
      `machine                                ${machine.cores} cores, ${machine.cpu}, Node ${machine.node}, queue in ${result.queue}`,
      `worker CPU per delivery / bare got     ${cpuRatio.toFixed(2)} x  (aim: 1.5 or less; median of ${rounds.length})`,
      `deliveries per second / bare got       ${rateRatio.toFixed(2)} x  (relay, queue, Postgres and receiver share the cores)`,
      `commit to arrival at ${LATENCY_PER_SECOND}/s             p50 ${latency.p50.toFixed(1)} ms, p99 ${latency.p99.toFixed(1)} ms, max ${latency.max.toFixed(1)} ms  (aim: p50 10 or less)`,
      `written to ${result.resultFile}`,
      '',
    ].join('\n'),
  );
}

function say(text: string): void {
  process.stdout.write(`[bench] ${text}\n`);
}
