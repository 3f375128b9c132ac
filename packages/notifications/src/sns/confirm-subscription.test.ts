import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createBoundedGet } from '@postrider/outbound';
import {
  answer,
  createTestAuthority,
  hang,
  type Reaction,
  redirectTo,
  type ScriptedReceiver,
  startScriptedReceiver,
} from '@postrider/testing';
import { envelopes } from '../../test/samples.ts';
import { confirmSubscription } from './confirm-subscription.ts';
import type { SnsSubscriptionConfirmation } from './envelope.ts';
import type { HttpsGet } from './https-get.ts';

const envelope = envelopes.subscriptionConfirmation as unknown as SnsSubscriptionConfirmation;

let sns: ScriptedReceiver;
let get: HttpsGet;
let visited: string[];

beforeAll(async () => {
  const authority = await createTestAuthority();
  sns = await startScriptedReceiver({ authority });
  const fetch = createBoundedGet({ timeoutMs: 1000, bodyBytesMax: 16_384, ca: [authority.caPem] });
  get = (url) => {
    visited.push(url.href);
    return fetch(new URL(sns.url(`${url.pathname}${url.search}`)));
  };
});
afterAll(() => sns.close());
beforeEach(() => {
  visited = [];
});

test('a subscription is confirmed by one visit to the address that SNS sent', async () => {
  sns.script('/', [answer(200, { body: '<ConfirmSubscriptionResponse/>' })]);
  expect(await confirmSubscription(envelope, get)).toEqual({ kind: 'confirmed' });
  expect(visited).toEqual([envelope.SubscribeURL]);
  expect(sns.requests.at(-1)).toMatchObject({
    method: 'GET',
    path: '/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:us-east-1:123456789012:ses-events&Token=2336412f37',
  });
});

describe('no request is made', () => {
  test.each([
    'https://127.0.0.1/?Action=ConfirmSubscription&Token=1',
    'https://169.254.169.254/latest/meta-data/',
    'http://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=1',
    envelope.SubscribeURL.replace('us-east-1', 'eu-west-1'),
    envelope.SubscribeURL.replace('amazonaws.com', 'amazonaws.com.example.invalid'),
    envelope.SubscribeURL.replace('ConfirmSubscription', 'Unsubscribe'),
    envelope.SubscribeURL.replace('ses-events', 'others'),
  ])('to %s', async (SubscribeURL) => {
    const answered = await confirmSubscription({ ...envelope, SubscribeURL }, get);
    expect(answered).toEqual({
      kind: 'refused',
      why: 'SubscribeURL does not confirm this topic at SNS',
    });
    expect(visited).toEqual([]);
  });
});

describe('a subscription is not confirmed', () => {
  test.each<[string, Reaction, object]>([
    ['for good when SNS turns it down', answer(400), { kind: 'refused', why: 'SNS answered HTTP 400' }],
    ['for good when the token has expired', answer(404), { kind: 'refused', why: 'SNS answered HTTP 404' }],
    ['for now when SNS is busy', answer(429), { kind: 'unavailable', why: 'SNS answered HTTP 429' }],
    ['for now when SNS is unwell', answer(503), { kind: 'unavailable', why: 'SNS answered HTTP 503' }],
    ['by a redirect', redirectTo('/elsewhere'), { kind: 'unavailable', why: 'SNS answered HTTP 302' }],
    ['for now when no answer comes', hang(), { kind: 'unavailable', why: 'timeout after 1000 ms' }],
  ])('%s', async (_, reaction, expected) => {
    sns.script('/', [reaction]);
    expect(await confirmSubscription(envelope, get)).toEqual(expected);
    expect(sns.requests.filter(({ path }) => path === '/elsewhere')).toHaveLength(0);
  });
});
