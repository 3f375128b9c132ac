import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { createBlobStore, createObjectSource } from '@postrider/blobs';
import { LIMITS, sharedInboundDomains } from '@postrider/domain';
import { within } from '@postrider/limits';
import { MessageParser } from '@postrider/received-mail';
import { databaseReadiness, logMailProvider, systemClock } from '@postrider/runtime';
import type { ReadinessCheck, Shell } from '@postrider/runtime';
import { ClamdScanner, RspamdScanner, SenderAuthentication } from '@postrider/screening';
import {
  agreeOnMailProvider,
  createReceivedMessageStore,
  createSesMailWork,
  createSweptBlobs,
  postmasterInbox,
  readiness,
} from '@postrider/store';
import type { Database, MailProviderName } from '@postrider/store';
import { createBlobSweep } from './blob-sweep.ts';
import { createMessageSink } from './pipeline/message-sink.ts';
import type { MessageSink } from './pipeline/message-sink.ts';
import { MailPipeline } from './pipeline/mail-pipeline.ts';
import { Screening } from './pipeline/screening.ts';
import { SesReceiver } from './ses/ses-receiver.ts';
import { InboundServer } from './smtp/inbound-server.ts';

/** Parsing uses much CPU. Two threads leave a core for the rest of the process. */
const PARSE = { threads: 2, timeoutMs: 20_000, memoryMb: 256 };
/** A thread mostly waits for name servers, so 16 cost little. */
const AUTHENTICATE = { threads: 16, timeoutMs: 20_000, memoryMb: 128 };
const NAME_SERVERS_TIMEOUT_MS = 5_000;
const SCAN_TIMEOUT_MS = 30_000;
/**
 * Part of the shutdown deadline: reserved for sending the last 421 answers and for closing threads and
 * Postgres.
 */
const CLOSING_TIME_MS = 2_000;

/** The database stays open: its opener closes it after the intake has stopped. */
export interface InboundParts extends Shell<'inbound'> {
  readonly database: Database;
}

/** The intake of mail is built from these. */
interface IntakeParts extends InboundParts {
  readonly intake: Intake;
  readonly blobs: ReturnType<typeof createBlobStore>;
  readonly parser: MessageParser;
  readonly authentication: SenderAuthentication;
}

interface Intake {
  /** True from its start until its stop begins. */
  isRunning: boolean;
}

/** Builds the intake of mail and adds it to `shell.lifecycle`. @returns a check whether it can work now. */
export function addInbound(shell: InboundParts): ReadinessCheck {
  const { config, database, lifecycle, logger, metrics } = shell;
  // Without a handler, SIGHUP ends the process. A SIGHUP before the server exists needs no work: the server
  // reads the certificate when it is created.
  process.on('SIGHUP', () => undefined);
  const blobs = createBlobStore(config.blobStore);
  const intake: Intake = { isRunning: false };
  const parts = { ...shell, ...openThreads(shell), blobs, intake };
  const blobSweep = createBlobSweep({
    store: createSweptBlobs(database),
    blobs,
    clock: systemClock,
    logger,
    metrics,
  });
  lifecycle
    .add('blob store', { stop: async () => blobs.close() })
    .add('blob sweep', { start: async () => blobSweep.start(), stop: () => blobSweep.stop() })
    .add('the mail provider', {
      async start() {
        const agreed = await agreeOnMailProvider(database, config.mailProvider);
        logMailProvider(shell, agreed);
        addIntake(parts, agreed.name);
      },
    });
  return async () =>
    intake.isRunning
      ? databaseReadiness(() => readiness(database.pool))
      : { ready: false, reason: 'starting, or stopping', isExpected: true };
}

/** Over LMTP the client is a mail server of the operator, not the sending machine. */
function clientIsSender({ inboundProtocol }: InboundParts['config']): boolean {
  return inboundProtocol === 'smtp';
}

function openThreads({ config, metrics, logger }: InboundParts) {
  const onThreadLost = (stage: 'parse' | 'authenticate') => (error: Error, client: string | null) => {
    metrics.inboundThreadsLost.inc({ stage });
    logger.warn('a message cost its thread', { stage, client, error });
  };
  const script = (name: string) => new URL(`./${name}.js`, import.meta.url);
  const parser = new MessageParser({
    ...PARSE,
    script: script('parse-thread'),
    onThreadLost: onThreadLost('parse'),
  });
  const authentication = new SenderAuthentication({
    authentication: {
      dnsServers: config.dnsServers,
      timeoutMs: NAME_SERVERS_TIMEOUT_MS,
      spf: clientIsSender(config),
    },
    pool: {
      ...AUTHENTICATE,
      script: script('authenticate-thread'),
      onThreadLost: onThreadLost('authenticate'),
    },
  });
  return { parser, authentication };
}

function createScreening(
  { config, authentication, logger, metrics }: IntakeParts,
  provider: MailProviderName,
) {
  return new Screening({
    metrics,
    // A sandbox may have no name servers. There, mail does not wait for them.
    triesUntilJudged: provider === 'sandbox' ? 1 : 3,
    authentication,
    virusScanner:
      config.inboundClamd === undefined
        ? null
        : new ClamdScanner({ target: config.inboundClamd, timeoutMs: SCAN_TIMEOUT_MS }),
    spamScanner:
      config.inboundRspamd === undefined
        ? null
        : new RspamdScanner({
            target: config.inboundRspamd,
            spamThreshold: config.inboundSpamThreshold ?? null,
            clientIsSender: clientIsSender(config),
            timeoutMs: SCAN_TIMEOUT_MS,
          }),
    required: config.inboundScreeningRequired,
    onUnjudged: (error, logFields) =>
      logger.warn('a scanner is away: the message is not judged by it', { ...logFields, error }),
  });
}

function addIntake(parts: IntakeParts, provider: MailProviderName): void {
  const { config, database, blobs, intake, parser, lifecycle, logger, metrics } = parts;
  const sharedDomains = sharedInboundDomains(config.inboundDomains, provider);
  const store = createReceivedMessageStore(database, systemClock, sharedDomains);
  const pipeline = new MailPipeline({ store, blobs, parser, logger, metrics });
  const screening = createScreening(parts, provider);
  const server = createServer(parts, createMessageSink({ store, pipeline, screening }));
  const ses = createSes(parts, pipeline);
  lifecycle
    .add('intake of mail', {
      async start() {
        await server.start();
        ses.start();
        intake.isRunning = true;
      },
      stop(remainingMs) {
        intake.isRunning = false;
        return stopReceiving(parts, server, ses, Math.max(0, remainingMs - CLOSING_TIME_MS));
      },
    })
    .add('warning about postmaster', {
      async start() {
        if (sharedDomains.length === 0 || (await postmasterInbox(database)) !== null) return;
        logger.warn(
          'mail to postmaster is refused: `postrider installation set postmaster ibx_…` names the inbox that gets it',
        );
      },
    });
}

/**
 * Messages still in the pipeline after `drainMs` lose their worker threads and their S3 calls. They are not
 * lost: the SMTP sender sends the message again, and a row holds each SES message.
 */
async function stopReceiving(
  { blobs, parser, authentication }: IntakeParts,
  server: InboundServer,
  ses: SesReceiver,
  drainMs: number,
): Promise<void> {
  const sesStopped = ses.stop();
  await Promise.all([
    server.stop(drainMs),
    within(
      () => sesStopped,
      drainMs,
      () => blobs.close(),
    ),
  ]);
  await Promise.all([parser.close(), authentication.close()]);
  await sesStopped;
}

/**
 * The API receives notifications of mail from SES and stores a row for each message. This receiver reads the
 * rows.
 */
function createSes({ database, logger, metrics }: InboundParts, pipeline: MailPipeline): SesReceiver {
  return new SesReceiver({
    work: createSesMailWork(database),
    objects: createObjectSource({ bytesMax: LIMITS.receivedBytes }),
    pipeline,
    logger,
    metrics,
  });
}

function createServer({ config, logger, metrics }: InboundParts, sink: MessageSink): InboundServer {
  const server = new InboundServer({
    host: config.inboundSmtpHost,
    port: config.inboundSmtpPort,
    protocol: config.inboundProtocol,
    hostname: config.inboundHostname ?? hostname(),
    tls: readTls(config),
    sink,
    logger,
    onSession: (open) => metrics.inboundSessions.set(open),
    onRefusal: (code, reason) => metrics.inboundRefusals.inc({ code, reason }),
  });
  process.on('SIGHUP', () => {
    try {
      server.setTls(readTls(config));
      logger.info('certificate read again');
    } catch (error) {
      logger.error('certificate not taken: the former one stays', { error });
    }
  });
  return server;
}

function readTls({ inboundTlsCertFile: cert, inboundTlsKeyFile: key }: InboundParts['config']) {
  return cert === undefined || key === undefined
    ? null
    : { cert: readFileSync(cert), key: readFileSync(key) };
}
