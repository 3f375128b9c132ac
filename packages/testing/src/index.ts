export { ACTOR } from './actor.ts';
export { bundleScript, type BundledScript } from './bundle-script.ts';
export { cloneDatabase, databaseUrl, openClient, withClient } from './admin.ts';
export { HOSTILE_SETTINGS, SESSION_OPTIONS } from './hostile-postgres.ts';
export { describeWithChromium } from './chromium.ts';
export { fakeClock, systemClock, type FakeClock } from './clock.ts';
export { deliveryQueues } from './delivery-queues.ts';
export { adminDatabaseUrl, createEmptyDatabase, createTestDatabase, type TestDatabase } from './database.ts';
export { numberInInfo, startRedisFailover, type RedisFailover } from './redis-failover.ts';
export { describeWithRedis, redisForTests } from './redis.ts';
export { createTestRoles, type TestRoles } from './roles.ts';
export { testWithIpv6, testWithLoopbackNetwork } from './loopback.ts';
export { newWebhook } from './new-webhook.ts';
export { inParallel } from './in-parallel.ts';
export { CLOSED_PORT, listen } from './listening-server.ts';
export { createTestProcess } from './test-process.ts';
export { awayFromNewHour } from './new-hour.ts';
export { holdingSnapshot } from './holding-snapshot.ts';
export { untilWaitingForLock } from './until-waiting-for-lock.ts';
export { waitFor } from './wait-for.ts';
export { createTestAuthority, type TestAuthority, type TestCertificate } from './certificates.ts';
export type { Behaviour, Exchange, Reaction, ReceivedRequest } from './receiver/behaviour.ts';
export {
  after,
  answer,
  answerThenResetNext,
  answerUnread,
  closeInsideHead,
  closeWithoutAnswer,
  dripBody,
  dripHead,
  duplicateContentLength,
  endlessBody,
  endlessHead,
  garbage,
  hang,
  headerBomb,
  http09,
  interimFlood,
  malformedBody,
  raw,
  redirectTo,
  resetAfterHead,
  resetBeforeHead,
  switchProtocols,
  takingMs,
  truncatedBody,
} from './receiver/behaviours.ts';
export { startZoneServer, type ZoneServer } from './dns/zone-server.ts';
export type { DnsServer } from './dns/dns-server.ts';
export { startNameServer, type NameReply } from './dns/name-server.ts';
export {
  startScriptedReceiver,
  type ScriptedReceiver,
  type ScriptedReceiverOptions,
} from './receiver/scripted-receiver.ts';
export { startTcpListener, type TcpListener } from './receiver/tcp-listener.ts';
export { describeMachine, usableCoreNumbers, usableCores, type Machine } from './report/machine.ts';
export { markdownTable } from './report/markdown-table.ts';
export { median, quantile, quantilesInWords, slopeOf, spreadOf } from './report/statistics.ts';
export { cleanUpAfterEach, setup, setupDatabase } from './setup.ts';
export { keepScreenshot, MAKES_SCREENSHOTS } from './screenshot.ts';
export { setEnvironment } from './process-environment.ts';
export {
  createRows,
  type AttachmentWish,
  type DeliveryWish,
  type MessageWish,
  type Rows,
  type WebhookWish,
} from './rows.ts';
export { runs } from './runs.ts';
export { streamInto } from './stream-into.ts';
export { createSnsSigner, snsCertUrl, type SnsFields, type SnsSigner } from './sns-signer.ts';
export { openSmtpClient, type SmtpClient } from './smtp-client.ts';
export { startFaultProxy, type FaultProxy } from './proxy/fault-proxy.ts';
export type { Direction } from './proxy/flow.ts';
export { forEveryProcess } from './system/for-every-process.ts';
export { fetchMetrics } from './system/metrics.ts';
export { runNode, type EndedProcess } from './system/run-node.ts';
export { systemEnvironment } from './system/environment.ts';
export { endsWithUs } from './system/ends-with-us.ts';
export { DIST, startProcess, type LogLine, type ProcessName, type SystemProcess } from './system/process.ts';
export { startFakeClamd, EICAR, type ClamdBehaviour, type FakeClamd } from './screening/fake-clamd.ts';
export { startFakeRspamd, type FakeRspamd, type RspamdBehaviour } from './screening/fake-rspamd.ts';
export { serviceDrop, serviceHang, servicePage, type ServiceReaction } from './fake-service.ts';
export { startFakeSes, type FakeSes, type SesMessage } from './ses/fake-ses.ts';
export { newIdentity, publishKeys, type FakeIdentity } from './ses/identities.ts';
export { sesReceived, type ReceivedWish } from './ses/received.ts';
export type { SesOperation } from './ses/operations.ts';
export { expectedSesEvents, sesSampleText, snsSamples } from './ses/samples.ts';
export { sesDrip, sesError, sesThrottle } from './ses/reactions.ts';
export { startFakeS3, type FakeS3 } from './s3/fake-s3.ts';
export type { S3Operation } from './s3/operations.ts';
export { s3Error, s3Part } from './s3/reactions.ts';
