import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecretBox } from '@postrider/domain';
import { createWebhookStore } from '@postrider/store';
import {
  createTestAuthority,
  startFaultProxy,
  startTcpListener,
  startZoneServer,
  systemClock,
  systemEnvironment,
  waitFor,
} from '@postrider/testing';
import type { FaultProxy, SystemProcess, TcpListener } from '@postrider/testing';
import { keyOf } from '../checker/history.ts';
import type { DeliveryKey, FaultEntry, History, NeighbourTimes } from '../checker/history.ts';
import { createRandom } from '../random.ts';
import type { Random } from '../random.ts';
import { rulesFor } from '../rules.ts';
import type { PrivatePostgres } from '../servers/postgres.ts';
import type { PrivateRedis } from '../servers/redis.ts';
import { TIMES, TIMES_ENVIRONMENT } from '../times.ts';
import { createApiClient } from './api-client.ts';
import { createEndpoints } from './endpoints.ts';
import { createFaults } from './faults.ts';
import { createMailSender } from './mail-sender.ts';
import { createProcesses } from './processes.ts';
import type { Processes } from './processes.ts';
import { createProducer } from './producer.ts';
import { startReceiverHosts } from './receiver-hosts.ts';
import { watchRecovery } from './recovery.ts';
import { stepClock } from './step-clock.ts';
import { newOwner, openStore } from '../../../open-store.ts';
import type { OpenStore } from '../../../open-store.ts';
import { watchSandbox } from './sandbox.ts';
import { readStoreState } from './store-state.ts';
import { watchUse } from './use.ts';
import type { Claim, World } from './world.ts';

export interface WorldOptions {
  /** The folder for its files. */
  readonly folder: string;
  readonly seed: number;
  /** The share of the counts of a full run. */
  readonly scale: number;
  readonly postgres: PrivatePostgres;
  /** Null: the queue is in Postgres. */
  readonly redis: PrivateRedis | null;
  readonly leaseSeconds: number;
  readonly signatureOffMs: number;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

/** The world, and the operations of its runner. */
export interface WorldControl {
  readonly world: World;
  readonly claims: readonly Claim[];
  /** Waits until nothing is outstanding, and stops all processes. @returns the failure, or null */
  settle(withinMs: number): Promise<string | null>;
  history(): Promise<History>;
  readonly processes: readonly SystemProcess[];
  close(): Promise<void>;
}

const QUEUE_PREFIX = 'torture';
const RECEIVER_HOSTS = 4;
/** No program listens on it. */
const NO_PORT = 0;
const DRAINED_WITHIN_MS = 90_000;
const WAIT_MS = 60_000;
/** Processes that make attempts. A killed one may have made an attempt that is not recorded. */
const ATTEMPTING: readonly string[] = ['worker', 'all'];

export async function createWorld(options: WorldOptions): Promise<WorldControl> {
  const folder = mkdtempSync(join(options.folder, 'world-'));
  const random = createRandom(options.seed);
  const databaseUrl = await options.postgres.createDatabase();
  const store = openStore(databaseUrl);
  const authority = await createTestAuthority();
  const hosts = await startReceiverHosts(authority, random, RECEIVER_HOSTS);
  const secretsKey = randomBytes(32);
  const { accountId, apiKey } = await newOwner(store.database);
  const endpoints = createEndpoints({
    hosts,
    webhooks: createWebhookStore(store.database, createSecretBox([secretsKey]), systemClock),
    accountId,
    signatureOffMs: options.signatureOffMs,
  });
  const recovery = watchRecovery(store);
  const faults = createFaults({ store, receipts: endpoints.receipts, recovery });
  // No name has records: SPF, DKIM and DMARC are `none` for all mail.
  const names = await startZoneServer();
  const blobFolder = join(folder, 'blobs');
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, authority.caPem);
  const sandboxFolder = join(folder, 'sandbox');
  const sandbox = watchSandbox(sandboxFolder);
  const processes = createProcesses(
    {
      ...systemEnvironment({ folder, caFile, secretsKey }),
      SANDBOX_DIR: sandboxFolder,
      ...TIMES_ENVIRONMENT,
      LEASE_SECONDS: String(options.leaseSeconds),
      QUEUE_PREFIX,
      DELIVERY_ALLOWED_NETWORKS: '127.0.0.0/9', // the upper half is for canaries
      DNS_SERVERS: names.address,
    },
    { postgres: databaseUrl, redis: options.redis?.url ?? null },
  );
  let inbound = { process: { running: false }, port: NO_PORT };
  const line = await startFaultProxy(() => ({
    host: '127.0.0.1',
    port: inbound.process.running ? inbound.port : NO_PORT,
  }));
  const sender = createMailSender({ line, signal: options.signal });
  const producer = createProducer({ store, accountId, random, signal: options.signal });
  const claims: Claim[] = [];
  const use = watchUse({ processes: processes.all, store, redis: options.redis });
  const replays: DeliveryKey[] = [];
  const neighbours: NeighbourTimes[] = [];
  const canaries: TcpListener[] = [];
  const proxies: FaultProxy[] = [];
  let apiPort = 0;

  /** Notes that the experiment ends this process. It must not have ended by itself before. */
  function expectEnd(process: SystemProcess): void {
    if (!process.running) world.claim('no process ended before its end was wanted', false, process.name);
    processes.expectEnd(process);
  }

  const world: World = {
    seed: options.seed,
    random,
    signal: options.signal,
    scaled: (count) => Math.max(1, Math.round(count * options.scale)),
    postgres: options.postgres,
    databaseUrl,
    get redis() {
      if (options.redis === null)
        throw new Error('there is no Redis in this world: its queue is in Postgres');
      return options.redis;
    },
    queuePrefix: QUEUE_PREFIX,
    query: store.query,
    count: store.count,
    outstandingOf: (accountId) =>
      store.count('deliveries d join webhooks w on w.id = d.webhook_id where w.account_id = $1', [accountId]),
    async proxy(server) {
      const target = server === 'postgres' ? options.postgres : world.redis;
      const proxy = await startFaultProxy(() => ({ host: '127.0.0.1', port: target.port }));
      proxies.push(proxy);
      return Object.defineProperty(proxy, 'server', { value: server }) as FaultProxy & {
        server: typeof server;
      };
    },
    accountId,
    newAccount: async () => (await newOwner(store.database)).accountId,
    endpoint: (wish = {}) => endpoints.create(wish),
    authority,
    canary: () => startCanary(random, canaries),
    producer,
    api: createApiClient(() => `http://127.0.0.1:${apiPort}`, apiKey),
    sender,
    blobFolder,
    async start(name, wish) {
      const started = await processes.start(name, wish);
      if (name === 'api' || name === 'all') apiPort = await started.port('api');
      if (name === 'inbound' || name === 'all')
        inbound = { process: started, port: await started.smtpPort() };
      if (faults.log.length > 0) recovery.healed();
      return started;
    },
    async kill(process) {
      expectEnd(process);
      await faults.strike(`kill -9 ${process.name}`, { mayRepeat: ATTEMPTING.includes(process.name) }, () =>
        process.kill(),
      );
    },
    async stop(process) {
      expectEnd(process);
      await faults.strike(`SIGTERM ${process.name}`, { mayRepeat: false }, async () => {
        const beganAtMs = performance.now();
        const code = await process.stop();
        const tookMs = Math.round(performance.now() - beganAtMs);
        const inTime = tookMs <= TIMES.shutdownDeadlineMs;
        world.claim(
          `${process.name} exits 0 on SIGTERM`,
          code === 0 && inTime,
          `${String(code)} in ${tookMs} ms`,
        );
      });
    },
    fault: (name, wish, act) => faults.strike(name, wish, act),
    restore: (backedUpAtMs) =>
      faults.strike(
        'an older copy of Postgres is restored',
        { mayRepeat: true, losesSinceMs: backedUpAtMs },
        () => options.postgres.restore(),
      ),
    stepClock: (offMs) =>
      stepClock(offMs, {
        clock: options.postgres.clock,
        store,
        receipts: endpoints.receipts,
        processes: processes.all,
        faults,
      }),
    healed: () => faults.healed(),
    until: (what, condition, withinMs = WAIT_MS) =>
      waitFor(condition, { what, timeoutMs: withinMs, intervalMs: 10 }).then(() => undefined),
    drained: (withinMs = DRAINED_WITHIN_MS) => drained(store, withinMs),
    removing: (endpoint, act) => endpoints.removing(endpoint, act),
    noteReplay: (eventId, webhookId) => void replays.push(keyOf({ eventId, webhookId })),
    noteNeighbours: (times) => void neighbours.push(times),
    claim: (text, held, saw) => void claims.push({ text, held, saw: saw ?? null }),
    note: options.note,
  };

  return {
    world,
    claims,
    processes: processes.all,
    async settle(withinMs) {
      await producer.stop();
      const failure = await drained(store, withinMs).then(() => null, String);
      await recovery.look();
      use.stop();
      const unmeasured = use.unmeasured();
      world.claim('the memory of each process was measured', unmeasured.length === 0, unmeasured.join(', '));
      await stopProcesses(processes, world);
      return failure;
    },
    async history() {
      return {
        causes: [...producer.log, ...sender.log],
        receipts: endpoints.receipts,
        handOvers: sandbox.handOvers(),
        webhooks: endpoints.webhooks,
        faults: faults.log,
        replays,
        canaryConnections: canaries.reduce((sum, canary) => sum + canary.connections, 0),
        recoveryMs: recovery.recoveryMs,
        use: use.peaks(),
        neighbours,
        store: await readStoreState(store, clockOffsets(faults.log)),
        rules: rulesFor({
          leaseSeconds: producer.log.some(isMail) ? TIMES.mailLeaseSeconds : options.leaseSeconds,
          signatureOffMs: options.signatureOffMs,
        }),
      };
    },
    async close() {
      recovery.stop();
      use.stop();
      sandbox.close();
      await processes.killAll();
      await closeAll([...proxies, line, names, ...endpoints.proxies, ...canaries, ...hosts]);
      await store.close();
      await options.postgres.dropDatabase(databaseUrl);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** All offsets that the clock of Postgres had. */
function clockOffsets(faults: readonly FaultEntry[]): number[] {
  let offMs = 0;
  return [0, ...faults.map(({ clockStepMs = 0 }) => (offMs += clockStepMs))];
}

/** Listens in the half of 127.0.0.0/8 that workers must refuse. */
async function startCanary(
  random: Random,
  canaries: TcpListener[],
): Promise<TcpListener & { readonly url: string }> {
  const host = `127.${random.between(128, 254)}.${random.between(0, 255)}.${random.between(1, 254)}`;
  const listener = await startTcpListener(undefined, host);
  canaries.push(listener);
  return Object.defineProperty(listener, 'url', {
    value: `https://${host}:${listener.port}/`,
  }) as TcpListener & {
    url: string;
  };
}

async function drained(store: Pick<OpenStore, 'count'>, withinMs: number): Promise<void> {
  const nothingLeft = async (): Promise<boolean> => {
    // One statement, because a message that is sent meanwhile moves from one table to the other.
    return (
      (await store.count('(select 1 from deliveries union all select 1 from email_sends) left_over')) === 0
    );
  };
  await waitFor(nothingLeft, { what: 'nothing to be outstanding', timeoutMs: withinMs, intervalMs: 50 });
}

/** Stops all processes, so that no request can arrive later. */
async function stopProcesses(processes: Processes, world: World): Promise<void> {
  const crashed = processes.crashed();
  world.claim(
    'no process ended by itself',
    crashed.length === 0,
    crashed.map((process) => process.name).join(', '),
  );
  const unclean = await processes.stopAll();
  world.claim(
    'in the end, every process exits 0',
    unclean.length === 0,
    unclean.map(({ name }) => name).join(', '),
  );
}

function isMail(entry: { readonly kind: string }): boolean {
  return entry.kind === 'email';
}

async function closeAll(closables: readonly { close(): Promise<void> }[]): Promise<void> {
  await Promise.all(closables.map((closable) => closable.close()));
}
