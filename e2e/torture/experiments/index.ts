import type { Experiment } from '../harness/experiment.ts';
import { apiKilledAtRandom } from './01-api-killed-at-random.ts';
import { apiKilledBetweenCommitAndAnswer } from './02-api-killed-between-commit-and-answer.ts';
import { relayKilledAtEveryStage } from './03-relay-killed-at-every-stage.ts';
import { manyRelays } from './04-many-relays.ts';
import { workerKilledAtEveryStage } from './05-worker-killed-at-every-stage.ts';
import { workerKilledThriceOnOneJob } from './06-worker-killed-thrice-on-one-job.ts';
import { frozenWorker } from './07-frozen-worker.ts';
import { flushAll } from './08-flushall.ts';
import { scriptsAndConnectionsDropped } from './09-scripts-and-connections-dropped.ts';
import { redisKilledAndEmpty } from './10-redis-killed-and-empty.ts';
import { redisFrozen } from './11-redis-frozen.ts';
import { redisHalfOpen } from './12-redis-half-open.ts';
import { redisOutOfMemory } from './13-redis-out-of-memory.ts';
import { randomKeysDeleted } from './14-random-keys-deleted.ts';
import { doubledAndStaleJobs } from './15-doubled-and-stale-jobs.ts';
import { postgresKilled } from './16-postgres-killed.ts';
import { sessionsTerminated } from './17-sessions-terminated.ts';
import { postgresHeldForOneWorker } from './18-postgres-held-for-one-worker.ts';
import { poolExhausted } from './19-pool-exhausted.ts';
import { longSnapshot } from './20-long-snapshot.ts';
import { databaseDiskFull } from './21-database-disk-full.ts';
import { tableLocked } from './22-table-locked.ts';
import { clocksOffByAnHour } from './23-clocks-off-by-an-hour.ts';
import { databaseClockStepped } from './24-database-clock-stepped.ts';
import { endlessEndpoints } from './25-endless-endpoints.ts';
import { hostileAnswers } from './26-hostile-answers.ts';
import { redirectsInwards } from './27-redirects-inwards.ts';
import { brokenTls } from './28-broken-tls.ts';
import { namesThatDoNotResolve } from './29-names-that-do-not-resolve.ts';
import { addressesThatAreRefused } from './30-addresses-that-are-refused.ts';
import { staleConnections } from './31-stale-connections.ts';
import { manyDeadEndpoints } from './32-many-dead-endpoints.ts';
import { floodBesideQuietTenants } from './33-flood-beside-quiet-tenants.ts';
import { allDieAndRevive } from './34-all-die-and-revive.ts';
import { webhookDeletedUnderWay } from './35-webhook-deleted-under-way.ts';
import { fiftyReplaysAtOnce } from './36-fifty-replays-at-once.ts';
import { goneAtEveryAttempt } from './37-gone-at-every-attempt.ts';
import { scheduleInRealTime } from './38-schedule-in-real-time.ts';
import { rollingRestart } from './39-rolling-restart.ts';
import { sigtermWithRedisDown } from './40-sigterm-with-redis-down.ts';
import { unknownJobShapes } from './41-unknown-job-shapes.ts';
import { hostileClients } from './42-hostile-clients.ts';
import { olderCopyRestored } from './43-older-copy-restored.ts';
import { soak } from './44-soak.ts';
import { redisDemoted } from './45-redis-demoted.ts';
import { manyRetriesPending } from './46-many-retries-pending.ts';
import { migratedBesideTheLastRelease } from './48-migrated-beside-the-last-release.ts';
import { inboundKilledAtEveryStep } from './49-inbound-killed-at-every-step.ts';
import { inboundKilledAtRandom } from './50-inbound-killed-at-random.ts';
import { postgresAwayWhileMailComesIn } from './51-postgres-away-while-mail-comes-in.ts';
import { blobStoreAway } from './52-blob-store-away.ts';
import { redisAwayWhileMailComesIn } from './53-redis-away-while-mail-comes-in.ts';
import { s3Away } from './54-s3-away.ts';
import { allKilledAtRandom } from './55-all-killed-at-random.ts';
import { relayKilledDuringARecovery } from './56-relay-killed-during-a-recovery.ts';

/** Every experiment, in the order of its number. */
export const EXPERIMENTS: readonly Experiment[] = [
  apiKilledAtRandom,
  apiKilledBetweenCommitAndAnswer,
  relayKilledAtEveryStage,
  manyRelays,
  workerKilledAtEveryStage,
  workerKilledThriceOnOneJob,
  frozenWorker,
  flushAll,
  scriptsAndConnectionsDropped,
  redisKilledAndEmpty,
  redisFrozen,
  redisHalfOpen,
  redisOutOfMemory,
  randomKeysDeleted,
  doubledAndStaleJobs,
  postgresKilled,
  sessionsTerminated,
  postgresHeldForOneWorker,
  poolExhausted,
  longSnapshot,
  databaseDiskFull,
  tableLocked,
  clocksOffByAnHour,
  databaseClockStepped,
  endlessEndpoints,
  hostileAnswers,
  redirectsInwards,
  brokenTls,
  namesThatDoNotResolve,
  addressesThatAreRefused,
  staleConnections,
  manyDeadEndpoints,
  floodBesideQuietTenants,
  allDieAndRevive,
  webhookDeletedUnderWay,
  fiftyReplaysAtOnce,
  goneAtEveryAttempt,
  scheduleInRealTime,
  rollingRestart,
  sigtermWithRedisDown,
  unknownJobShapes,
  hostileClients,
  olderCopyRestored,
  soak,
  redisDemoted,
  manyRetriesPending,
  migratedBesideTheLastRelease,
  inboundKilledAtEveryStep,
  inboundKilledAtRandom,
  postgresAwayWhileMailComesIn,
  blobStoreAway,
  redisAwayWhileMailComesIn,
  s3Away,
  allKilledAtRandom,
  relayKilledDuringARecovery,
];
