import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createBoundedGet } from '@postrider/outbound';
import {
  answer,
  createSnsSigner,
  createTestAuthority,
  hang,
  snsCertUrl,
  snsSamples,
  startScriptedReceiver,
  systemClock,
} from '@postrider/testing';
import type { Reaction, ScriptedReceiver, SnsFields, SnsSigner } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../test/expect-problem.ts';
import { startApi } from '../test/start-api.ts';
import type { TestApi } from '../test/start-api.ts';
import { createSnsAccess } from './sns-access.ts';

/* The API's requests to SNS, as in `main.ts`. But SNS runs on loopback with a certificate of a test authority. */

const KIB = 1024;
const HOUR_MS = 60 * 60_000;
const CERTIFICATE = new URL(snsCertUrl).pathname;
const samples = snsSamples();

let signer: SnsSigner;
let sns: ScriptedReceiver;
let api: TestApi;

beforeAll(async () => {
  signer = await createSnsSigner({ notAfter: new Date(Date.now() + 48 * HOUR_MS) });
});
beforeEach(async () => {
  const authority = await createTestAuthority();
  sns = await startScriptedReceiver({ authority });
  const config = {
    snsTopicArns: [String(samples.notification['TopicArn'])],
    snsAllowSha1: false,
    snsSigningCertFile: undefined,
    inboundS3Buckets: [],
  };
  const access = createSnsAccess(config, systemClock, (limits) => {
    const get = createBoundedGet({ ...limits, ca: [authority.caPem] });
    return (url) => get(new URL(sns.url(`${url.pathname}${url.search}`)));
  });
  api = await startApi({ sns: access });
});
afterEach(async () => {
  await api.stop();
  await sns.close();
});

/** A signed message with the current time. */
function signed(fields: SnsFields): SnsFields {
  return signer.sign({ ...fields, Timestamp: new Date().toISOString() });
}

const notification = () => signed({ ...samples.notification, Message: 'of no kind that makes an event' });
const confirmation = () => signed(samples.subscriptionConfirmation);

function post(body: SnsFields) {
  return request(api.url).post('/internal/ses/sns').send(JSON.stringify(body));
}

const asked = (path: string) => sns.requests.filter((each) => each.path.startsWith(path)).length;
const certificate = (padding = 0): Reaction => answer(200, { body: signer.certPem.padEnd(padding, '\n') });

describe('the signing certificate', () => {
  test('is fetched with the first message, and kept; it may have 64 KiB', async () => {
    sns.always(CERTIFICATE, certificate(64 * KIB));
    for (let times = 0; times < 3; times += 1) expect((await post(notification())).status).toBe(200);
    expect(asked(CERTIFICATE)).toBe(1);
  });

  test('is not read beyond 64 KiB', async () => {
    sns.always(CERTIFICATE, certificate(64 * KIB + 1));
    expectProblem(await post(notification()), 'not-ready');
    expect(api.log()).toContain('signing certificate: response larger than 65536 bytes');
  });
});

describe('a subscription', () => {
  beforeEach(() => sns.script(CERTIFICATE, [certificate()]));

  test('is confirmed by SNS’s answer, of which at most 64 KiB are read', async () => {
    sns.script('/', [answer(200, { body: Buffer.alloc(64 * KIB + 1) }), answer(200)]);
    expectProblem(await post(confirmation()), 'not-ready');
    expect(api.log()).toContain('response larger than 65536 bytes');
    expect((await post(confirmation())).status).toBe(200);
  });

  test('is left to the next try when SNS does not answer', async () => {
    sns.script('/', [hang()]);
    expectProblem(await post(confirmation()), 'not-ready');
    expect(api.log()).toContain('timeout after 5000 ms');
  });
});
