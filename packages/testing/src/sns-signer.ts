import { createSign } from 'node:crypto';
import { issueCertificate } from '@postrider/embedded';

const algorithm = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};

/** The fields of an SNS message in its JSON. */
export type SnsFields = Record<string, string>;

/** Signs messages like SNS, with its own RSA key. */
export interface SnsSigner {
  /** The certificate of its key. */
  certPem: string;
  /** Adds `SignatureVersion`, `Signature` and, when it is missing, a `SigningCertURL` of SNS. */
  sign(message: SnsFields, version?: '1' | '2'): SnsFields;
}

export const snsCertUrl =
  'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem';

/** @param validity of the certificate. Default: from yesterday to tomorrow */
export async function createSnsSigner(
  validity: { notBefore?: Date; notAfter?: Date } = {},
): Promise<SnsSigner> {
  const { certPem, keyPem } = await issueCertificate({
    names: ['sns.amazonaws.com'],
    algorithm,
    ...validity,
  });

  function sign(message: SnsFields, version: '1' | '2' = '2'): SnsFields {
    const signer = createSign(version === '1' ? 'RSA-SHA1' : 'RSA-SHA256');
    for (const name of signedNames(message)) signer.update(`${name}\n${message[name] ?? ''}\n`);
    return {
      SigningCertURL: snsCertUrl,
      ...message,
      SignatureVersion: version,
      Signature: signer.sign(keyPem, 'base64'),
    };
  }

  return { certPem, sign };
}

/** The rule of SNS, copied from no other code, so that tests find a mistake in the code under test. */
function signedNames(message: SnsFields): string[] {
  if (message['Type'] !== 'Notification') {
    return ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
  }
  return message['Subject'] === undefined
    ? ['Message', 'MessageId', 'Timestamp', 'TopicArn', 'Type']
    : ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'];
}
