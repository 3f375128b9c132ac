import { addApi } from '@postrider/api';
import { addConsole } from '@postrider/console';
import { addInbound } from '@postrider/inbound';
import { openQueueWatch, queueLocation, requireQueueSchema } from '@postrider/queue';
import type { QueueWatch } from '@postrider/queue';
import { addRelay } from '@postrider/relay';
import { operationsServer, readinessOfAll, sharedShell, stoppingTogether } from '@postrider/runtime';
import type { PartList, ReadinessCheck, Role, Shell } from '@postrider/runtime';
import { addWorker } from '@postrider/worker';
import { databasePart, openConnections } from './connections.ts';

const shared = sharedShell((config) => ({ queue: queueLocation(config).kind }));
const { config, roles, lifecycle, logger, metrics, onPostgresError } = shared;
const location = queueLocation(config);
const connections = openConnections(config, onPostgresError);
const { database, keyDatabase, limiterConnection, leases, counts, reads, shares } = connections;
/** The start list of each role that runs. */
const lists: PartList[] = [];
let openedQueueWatch: QueueWatch | null = null;

/** Builds a role, and adds its parts to the role's start list. Returns the role's readiness check. */
const ADD_ROLE: Readonly<Record<Role, () => ReadinessCheck>> = {
  api: () =>
    addApi({
      ...shellOf('api'),
      database,
      storeConnections: shares.requests,
      keyDatabase,
      limiterConnection,
    }),
  relay: () => addRelay({ ...shellOf('relay'), leases, pool: counts, queueWatch: queueWatch() }),
  worker: () => addWorker({ ...shellOf('worker'), database, leases, queueWatch: queueWatch() }),
  inbound: () => addInbound({ ...shellOf('inbound'), database }),
  console: () => addConsole({ ...shellOf('console'), actions: database, reads }),
};

function shellOf<const R extends Role>(role: R): Shell<R> {
  const shell = shared.shellOf(role);
  lists.push(shell.lifecycle);
  return shell;
}

/** Opens the watch over the queue at the first call. Relay and worker share it. The other roles need none. */
function queueWatch(): QueueWatch {
  if (openedQueueWatch !== null) return openedQueueWatch;
  openedQueueWatch = openQueueWatch(location, { client: 'queue', logger, metrics });
  lifecycle.add('queue watch', openedQueueWatch).add('queue', { start: () => requireQueueSchema(location) });
  return openedQueueWatch;
}

lifecycle.add(
  'database',
  databasePart(connections, (line) => logger.warn(line)),
);
let running = false;
const checkRoles = readinessOfAll(roles.map((role) => ADD_ROLE[role]()));
const readiness: ReadinessCheck = async () =>
  running ? checkRoles() : { ready: false, reason: 'starting, or stopping', isExpected: true };
lifecycle
  .add('operations server', operationsServer(shared, readiness))
  .add('the roles', stoppingTogether(lists))
  .add('readiness', {
    start: async () => void (running = true),
    stop: async () => void (running = false),
  });

await lifecycle.run();
