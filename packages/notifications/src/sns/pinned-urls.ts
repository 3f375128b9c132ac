import { awsPartitionOf } from '@postrider/domain';
import type { SnsSubscriptionConfirmation } from './envelope.ts';

/*
 * `SigningCertURL` and `SubscribeURL` are checked as text, before any URL parser interprets them. The host
 * must be in lower case, and the path must be SNS's own. A user, a port, a fragment, and a percent-escape in
 * host or path are refused.
 */

/** The parts of the URL: region, domain, and path with query. `readSnsUrl` checks region and domain. */
const SNS_URL = /^https:\/\/sns\.([a-z0-9-]{1,40})\.([a-z0-9.-]{1,40})(\/.*)$/;
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9a-f]{1,128}\.pem$/;
const QUERY_PATH = /^\/\?[\w.~:%&=+-]+$/;

interface SnsUrl {
  region: string;
  pathAndQuery: string;
}

/**
 * The region must belong to a partition of AWS, and the domain to the same partition. A looser check accepts
 * `sns.s3-us-west-2.amazonaws.com`: a storage bucket called "sns", which any AWS customer may own.
 *
 * @returns null when the text is not an address of SNS.
 */
function readSnsUrl(text: string): SnsUrl | null {
  const [, region, domain, pathAndQuery] = SNS_URL.exec(text) ?? [];
  if (region === undefined || pathAndQuery === undefined) return null;
  return awsPartitionOf(region)?.domain === domain ? { region, pathAndQuery } : null;
}

/** The address of a signing certificate. Null for any other address. */
export function parseSigningCertUrl(text: string): URL | null {
  const address = readSnsUrl(text);
  return address !== null && CERTIFICATE_PATH.test(address.pathAndQuery) ? new URL(text) : null;
}

/**
 * The URL that confirms the subscription to the envelope's own topic, in the topic's region. Null when
 * `SubscribeURL` has any other effect. Further parameters are allowed, because the URL is signed.
 */
export function parseSubscribeUrl(envelope: SnsSubscriptionConfirmation): URL | null {
  const address = readSnsUrl(envelope.SubscribeURL);
  if (address === null || !QUERY_PATH.test(address.pathAndQuery)) return null;
  // arn:<partition>:sns:<region>:<account>:<name>
  if (envelope.TopicArn.split(':')[3] !== address.region) return null;
  const url = new URL(envelope.SubscribeURL);
  const confirms =
    singleValue(url, 'Action') === 'ConfirmSubscription' &&
    singleValue(url, 'TopicArn') === envelope.TopicArn &&
    (singleValue(url, 'Token') ?? '') !== '';
  return confirms ? url : null;
}

/** The value of a parameter that occurs once. Null for a repeated one: SNS might read the other value. */
function singleValue(url: URL, name: string): string | null {
  const values = url.searchParams.getAll(name);
  return values.length === 1 ? (values[0] ?? null) : null;
}
