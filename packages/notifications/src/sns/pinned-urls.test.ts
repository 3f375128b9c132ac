import { describe, expect, test } from '@jest/globals';
import { envelopes } from '../../test/samples.ts';
import type { SnsSubscriptionConfirmation } from './envelope.ts';
import { parseSigningCertUrl, parseSubscribeUrl } from './pinned-urls.ts';

const file = 'SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem';

describe('the signing certificate', () => {
  test.each([
    `https://sns.us-east-1.amazonaws.com/${file}`,
    `https://sns.ap-southeast-2.amazonaws.com/${file}`,
    `https://sns.us-gov-west-1.amazonaws.com/${file}`,
    `https://sns.cn-north-1.amazonaws.com.cn/${file}`,
    `https://sns.eusc-de-east-1.amazonaws.eu/${file}`,
    `https://sns.us-iso-east-1.c2s.ic.gov/${file}`,
    `https://sns.us-isob-east-1.sc2s.sgov.gov/${file}`,
    `https://sns.eu-isoe-west-1.cloud.adc-e.uk/${file}`,
    `https://sns.us-isof-south-1.csp.hci.ic.gov/${file}`,
  ])('lies at %s', (text) => {
    expect(parseSigningCertUrl(text)?.href).toBe(text);
  });

  test.each([
    ['another scheme', `http://sns.us-east-1.amazonaws.com/${file}`],
    ['no scheme', `//sns.us-east-1.amazonaws.com/${file}`],
    ['another host', `https://example.invalid/${file}`],
    ['a metadata address', `https://169.254.169.254/${file}`],
    ['a bucket called sns', `https://sns.s3-us-west-2.amazonaws.com/${file}`],
    ['a bucket called sns', `https://sns.s3.us-west-2.amazonaws.com/${file}`],
    ['another service', `https://s3.us-east-1.amazonaws.com/sns/${file}`],
    ['a longer domain', `https://sns.us-east-1.amazonaws.com.example.invalid/${file}`],
    ['a longer domain without a dot', `https://sns.us-east-1.amazonaws.community/${file}`],
    ['a dot that is another character', `https://sns.us-east-1.amazonawsxcom/${file}`],
    ['a name in front', `https://evil.sns.us-east-1.amazonaws.com/${file}`],
    ['a name in front without a dot', `https://evilsns.us-east-1.amazonaws.com/${file}`],
    ['a region that is none', `https://sns.evil.amazonaws.com/${file}`],
    ['no region', `https://sns.amazonaws.com/${file}`],
    ['a region of China outside .cn', `https://sns.cn-north-1.amazonaws.com/${file}`],
    ['a region elsewhere inside .cn', `https://sns.us-east-1.amazonaws.com.cn/${file}`],
    ['a sovereign region outside its partition', `https://sns.eusc-de-east-1.amazonaws.com/${file}`],
    ['a region elsewhere inside the sovereign partition', `https://sns.eu-central-1.amazonaws.eu/${file}`],
    ['a host in capitals', `https://SNS.us-east-1.amazonaws.com/${file}`],
    ['a scheme in capitals', `HTTPS://sns.us-east-1.amazonaws.com/${file}`],
    ['a host with a final dot', `https://sns.us-east-1.amazonaws.com./${file}`],
    ['a port', `https://sns.us-east-1.amazonaws.com:8443/${file}`],
    ['the port it has anyway', `https://sns.us-east-1.amazonaws.com:443/${file}`],
    ['a user', `https://a@sns.us-east-1.amazonaws.com/${file}`],
    ['a user that looks like the host', `https://sns.us-east-1.amazonaws.com@example.invalid/${file}`],
    ['a user that looks like all of it', `https://sns.us-east-1.amazonaws.com/${file}@example.invalid`],
    ['a backslash', `https://sns.us-east-1.amazonaws.com\\@example.invalid/${file}`],
    ['a query', `https://sns.us-east-1.amazonaws.com/${file}?a=b`],
    ['a fragment', `https://sns.us-east-1.amazonaws.com/${file}#a`],
    ['a folder', `https://sns.us-east-1.amazonaws.com/a/${file}`],
    ['a way up', `https://sns.us-east-1.amazonaws.com/../${file}`],
    ['an escaped way up', `https://sns.us-east-1.amazonaws.com/%2e%2e/${file}`],
    ['a double slash', `https://sns.us-east-1.amazonaws.com//${file}`],
    ['another file', 'https://sns.us-east-1.amazonaws.com/evil.pem'],
    ['a file without its hash', 'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-.pem'],
    ['a hash in capitals', `https://sns.us-east-1.amazonaws.com/SimpleNotificationService-ABCDEF.pem`],
    ['a longer file', `https://sns.us-east-1.amazonaws.com/${file}x`],
    ['a line break behind', `https://sns.us-east-1.amazonaws.com/${file}\n`],
    ['a line break inside', `https://sns.us-east-1.amazonaws.com/\n${file}`],
    ['a space in front', ` https://sns.us-east-1.amazonaws.com/${file}`],
    ['a letter that looks alike', `https://sn\u0455.us-east-1.amazonaws.com/${file}`],
    ['nothing', ''],
  ])('never lies at an address with %s', (_, text) => {
    expect(parseSigningCertUrl(text)).toBeNull();
  });
});

describe('the confirmation of a subscription', () => {
  const topic = 'arn:aws:sns:us-east-1:123456789012:ses-events';
  const host = 'https://sns.us-east-1.amazonaws.com';
  const query = `Action=ConfirmSubscription&TopicArn=${topic}&Token=2336412f37`;
  const given = envelopes.subscriptionConfirmation as unknown as SnsSubscriptionConfirmation;
  const judge = (SubscribeURL: string, TopicArn = topic) =>
    parseSubscribeUrl({ ...given, TopicArn, SubscribeURL })?.href ?? null;

  test('is what SNS sends', () => {
    expect(judge(given.SubscribeURL)).toBe(given.SubscribeURL);
  });

  test('may have the colons of its topic escaped, and parameters that SNS adds', () => {
    const text = `${host}/?${query.replaceAll(':', '%3A')}&AuthenticateOnUnsubscribe=true`;
    expect(judge(text)).toBe(text);
  });

  test('lies in China for a topic in China', () => {
    const china = 'arn:aws-cn:sns:cn-north-1:123456789012:ses-events';
    const text = `https://sns.cn-north-1.amazonaws.com.cn/?Action=ConfirmSubscription&TopicArn=${china}&Token=1`;
    expect(judge(text, china)).toBe(text);
  });

  test.each([
    ['another scheme', `http://sns.us-east-1.amazonaws.com/?${query}`],
    ['another host', `https://example.invalid/?${query}`],
    ['a loopback address', `https://127.0.0.1/?${query}`],
    ['a metadata address', `https://169.254.169.254/?${query}`],
    ['a bucket called sns', `https://sns.s3-us-west-2.amazonaws.com/?${query}`],
    ['a longer domain', `https://sns.us-east-1.amazonaws.com.example.invalid/?${query}`],
    ['a user', `https://sns.us-east-1.amazonaws.com@example.invalid/?${query}`],
    ['a port', `${host}:8443/?${query}`],
    ['a path', `${host}/elsewhere?${query}`],
    ['a fragment', `${host}/?${query}#a`],
    ['a user behind the query', `${host}/?${query}@example.invalid`],
    ['the region of another topic', `https://sns.eu-west-1.amazonaws.com/?${query}`],
    ['another action', `${host}/?${query.replace('ConfirmSubscription', 'DeleteTopic')}`],
    ['two actions', `${host}/?Action=DeleteTopic&${query}`],
    ['another topic', `${host}/?${query.replace('ses-events', 'others')}`],
    ['two topics', `${host}/?TopicArn=${topic}s&${query}`],
    ['no topic', `${host}/?Action=ConfirmSubscription&Token=1`],
    ['no token', `${host}/?Action=ConfirmSubscription&TopicArn=${topic}`],
    ['an empty token', `${host}/?Action=ConfirmSubscription&TopicArn=${topic}&Token=`],
    ['no query', `${host}/`],
  ])('is never an address with %s', (_, text) => {
    expect(judge(text)).toBeNull();
  });
});
