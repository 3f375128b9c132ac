import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import {
  createSnsSigner,
  fetchMetrics,
  sesReceived,
  snsSamples,
  startFakeClamd,
  startFakeS3,
  startFaultProxy,
  waitFor,
} from '@postrider/testing';
import type {
  FakeClamd,
  FakeS3,
  FaultProxy,
  ReceivedWish,
  S3Operation,
  SnsSigner,
  SystemProcess,
} from '@postrider/testing';
import { callApi } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

const { notification } = snsSamples();
export const BUCKET = 'mail-in';
export const DOMAIN = 'inbound.postrider.example';
export const PATIENCE_MS = 60_000;

/** An event that the webhook got. */
interface MailEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly id: string; readonly received_for: string[] };
}

export function message(subject: string, body = 'It is late.'): Buffer {
  const fields = ['From: Ann <ann@shop.example>', `Subject: ${subject}`, 'Message-ID: <1@shop.example>'];
  return Buffer.from([...fields, '', body, ''].join('\r\n'));
}

/** Real processes that receive the mail of SES, with a bucket, a scanner, a signer of SNS and one webhook. */
export function setupSesInbound() {
  let folder: string;
  let signer: SnsSigner;
  let s3: FakeS3;
  let clamd: FakeClamd;
  let system: System;
  let proxy: FaultProxy;
  let all: SystemProcess;
  let inbound: SystemProcess;
  let made = 0;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sns-'));
    signer = await createSnsSigner();
    const certificate = join(folder, 'sns.pem');
    writeFileSync(certificate, signer.certPem);
    s3 = await startFakeS3();
    clamd = await startFakeClamd();
    system = await startSystem({
      env: {
        ...s3.environment,
        SNS_TOPIC_ARNS: String(notification['TopicArn']),
        SNS_SIGNING_CERT_FILE: certificate,
        INBOUND_S3_BUCKETS: BUCKET,
        INBOUND_CLAMD: clamd.address,
        BLOB_STORE: 's3://blobs',
        SHUTDOWN_DEADLINE_MS: '10000',
      },
    });
    proxy = await startFaultProxy(system.db.url);
    [all] = await Promise.all([system.start('all', { ROLES: 'api,relay,worker' }), startInbound()]);
    await system.webhook('/hook');
  });
  afterAll(async () => {
    await system.close();
    await proxy.close();
    await s3.close();
    await clamd.close();
    rmSync(folder, { recursive: true });
  });

  /** Starts the inbound process. Its connections to Postgres go through the proxy. */
  async function startInbound(): Promise<void> {
    inbound = await system.start('inbound', { DATABASE_URL: proxy.url(system.db.url) });
  }

  async function call(
    method: string,
    path: string,
    body?: object,
  ): Promise<Readonly<Record<string, unknown>>> {
    const answer = await callApi({ api: all, key: system.apiKey }, method, path, body);
    if (answer.status >= 400) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Makes an inbox. @returns its address */
  async function newInbox(): Promise<string> {
    made += 1;
    const address = `inbox-${made}@${DOMAIN}`;
    await call('POST', '/v1/inboxes', { email_address: address });
    return address;
  }

  /** The events of an address that have arrived so far. */
  function eventsOf(address: string): MailEvent[] {
    return system.receiver.requests
      .map(({ body }) => JSON.parse(String(body)) as MailEvent)
      .filter(({ data }) => data.received_for.includes(address));
  }

  /** Waits for the first event of an address. */
  const event = async (address: string) =>
    waitFor(() => eventsOf(address)[0], { what: `the event of ${address}`, timeoutMs: PATIENCE_MS });

  /** Puts a message into a bucket. @returns where it is. */
  function put(bytes: Buffer, bucket = BUCKET) {
    made += 1;
    const key = `mail/${made}`;
    s3.objects.set(`${bucket}/${key}`, { bytes, lastModified: new Date() });
    return { bucket, key };
  }

  const requestCount = (operation: S3Operation) =>
    s3.requests.filter((request) => request.operation === operation).length;

  /** Posts a notification as SNS does. @param id the same when it comes again. @returns the id */
  async function notify(wish: ReceivedWish, id = `sns-${(made += 1)}`): Promise<string> {
    const Timestamp = new Date().toISOString();
    const Message = JSON.stringify(sesReceived(wish));
    const answer = await fetch(`http://127.0.0.1:${await all.port('api')}/internal/ses/sns`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain; charset=UTF-8' },
      body: JSON.stringify(signer.sign({ ...notification, Timestamp, MessageId: id, Message })),
    });
    expect([answer.status, await answer.text()]).toEqual([200, '{"received":true}']);
    return id;
  }

  /** The number of messages of SES that wait for the inbound process. */
  const backlog = async () => {
    const [row] = await system.db.query<{ n: number }>('select count(*)::int as n from ses_mail');
    return row?.n;
  };
  const untilTakenIn = async () =>
    waitFor(async () => (await backlog()) === 0, { what: 'all mail to be taken in', timeoutMs: PATIENCE_MS });

  /** The count of messages with these labels, from the metrics of the inbound process. */
  async function metric(labels: string): Promise<number> {
    return (
      (await fetchMetrics(await inbound.port())).find(`postrider_inbound_messages_total{${labels}}`) ?? 0
    );
  }

  /** The number of stored messages of an address. */
  const storedCount = async (address: string) => {
    const [row] = await system.db.query<{ n: number }>(
      'select count(*)::int as n from messages where $1 = any (received_for)',
      [address],
    );
    return row?.n;
  };

  /** Waits until all mail is taken in and delivered. Expects one message and one event of the address. */
  async function expectOnce(address: string): Promise<void> {
    await untilTakenIn();
    await event(address);
    await system.drained();
    expect(eventsOf(address)).toHaveLength(1);
    expect(await storedCount(address)).toBe(1);
  }

  return {
    startInbound,
    call,
    newInbox,
    event,
    put,
    requestCount,
    notify,
    backlog,
    untilTakenIn,
    metric,
    storedCount,
    expectOnce,
    get system() {
      return system;
    },
    get s3() {
      return s3;
    },
    get clamd() {
      return clamd;
    },
    get proxy() {
      return proxy;
    },
    /** Runs api, relay and worker. */
    get all() {
      return all;
    },
    get inbound() {
      return inbound;
    },
  };
}
