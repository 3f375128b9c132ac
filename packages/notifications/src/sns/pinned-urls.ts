import type { SnsSubscriptionConfirmation } from './envelope.ts';

/*
 * Both URLs are judged as the text they are, before any parser has made sense of it: lower case, no user, no port,
 * no fragment, no percent-escape in the host or path, one path.
 */

/**
 * `us-east-1`, `us-gov-west-1`, `cn-north-1`. Looser patterns let `sns.s3-us-west-2.amazonaws.com` through, which is
 * a storage bucket called "sns" that anybody may own.
 */
const HOST = /^https:\/\/sns\.([a-z]{2,4}(?:-[a-z]{2,20}){1,3}-\d{1,2})\.amazonaws\.com(\.cn)?(\/.*)$/;
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9a-f]{1,128}\.pem$/;
const QUERY_PATH = /^\/\?[\w.~:%&=+-]+$/;

interface SnsUrl {
  region: string;
  pathAndQuery: string;
}

/** @returns null unless the text is an address of SNS itself. The names of China's regions, and only those, end in `.cn`. */
function readSnsUrl(text: string): SnsUrl | null {
  const [, region, china, pathAndQuery] = HOST.exec(text) ?? [];
  if (region === undefined || pathAndQuery === undefined) return null;
  return region.startsWith('cn-') === (china !== undefined) ? { region, pathAndQuery } : null;
}

/** The address of a signing certificate, or null when the text leads anywhere else. */
export function parseSigningCertUrl(text: string): URL | null {
  const address = readSnsUrl(text);
  return address !== null && CERTIFICATE_PATH.test(address.pathAndQuery) ? new URL(text) : null;
}

/**
 * The address that confirms the subscription to the envelope's own topic, in that topic's region, or null when
 * `SubscribeURL` would do anything else. Parameters beyond the three known ones pass: the URL is signed.
 */
export function parseSubscribeUrl(envelope: SnsSubscriptionConfirmation): URL | null {
  const address = readSnsUrl(envelope.SubscribeURL);
  if (address === null || !QUERY_PATH.test(address.pathAndQuery)) return null;
  // arn:<partition>:sns:<region>:<account>:<name>
  if (envelope.TopicArn.split(':')[3] !== address.region) return null;
  const url = new URL(envelope.SubscribeURL);
  const confirms =
    only(url, 'Action') === 'ConfirmSubscription' &&
    only(url, 'TopicArn') === envelope.TopicArn &&
    (only(url, 'Token') ?? '') !== '';
  return confirms ? url : null;
}

/** The value of a parameter that occurs once; of two, nobody knows which one the other side reads. */
function only(url: URL, name: string): string | null {
  const values = url.searchParams.getAll(name);
  return values.length === 1 ? (values[0] ?? null) : null;
}
