import { generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { startZoneServer, type ZoneServer } from '@postrider/testing';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { authenticateSender } from '../src/authentication/authenticate-sender.ts';
import type { AuthenticationOptions } from '../src/authentication/authenticate-sender.ts';
import type { Envelope, SenderVerdict } from '../src/verdicts.ts';

/** The address of the sending machine, from the documentation range. */
export const SENDING_ADDRESS = '192.0.2.10';

export const ENVELOPE: Envelope = {
  client: SENDING_ADDRESS,
  remoteAddress: SENDING_ADDRESS,
  helo: 'mx.example.com',
  mailFrom: 'bounces@example.com',
  rcptTo: ['support@inbound.test'],
};

export interface Signer {
  readonly domain: string;
  readonly selector: string;
  readonly key: KeyObject;
  /** The text of the DNS record with the key. */
  readonly record: string;
}

export function newSigner(
  domain: string,
  selector = 's1',
  type: 'rsa' | 'ed25519' = 'rsa',
  bits = 2048,
): Signer {
  if (type === 'ed25519') {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64');
    return { domain, selector, key: privateKey, record: `v=DKIM1; k=ed25519; p=${raw}` };
  }
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  const der = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  return { domain, selector, key: privateKey, record: `v=DKIM1; k=rsa; p=${der}` };
}

export interface SignOptions {
  readonly algorithm?: string;
  readonly canonicalization?: string;
  readonly expires?: Date;
  /** Field names, separated by colons. */
  readonly headerList?: string;
  /** `l=` */
  readonly maxBodyLength?: number;
}

/** Returns the message with the signature in front. */
export async function signed(raw: Buffer, signer: Signer, options: SignOptions = {}): Promise<Buffer> {
  const { maxBodyLength, headerList, ...shared } = options;
  const whose = {
    signingDomain: signer.domain,
    selector: signer.selector,
    privateKey: signer.key.export({ type: 'pkcs8', format: 'pem' }),
  };
  const { signatures, errors } = await dkimSign(raw, {
    ...whose,
    signTime: new Date(), // else it reads the clock twice, and signs another `t=` than it writes when a second passes
    ...shared,
    ...(headerList === undefined ? {} : { headerList }),
    signatureData: [{ ...whose, ...(maxBodyLength === undefined ? {} : { maxBodyLength }) }],
  });
  const [error] = errors as (Error | { err: Error })[];
  if (error !== undefined) throw 'err' in error ? error.err : error;
  return Buffer.concat([Buffer.from(signatures), raw]);
}

export function message(
  from: string | readonly string[] = 'Ann <ann@example.com>',
  body = 'Hello\r\n',
): Buffer {
  const authors = (typeof from === 'string' ? [from] : from).map((author) => `From: ${author}\r\n`).join('');
  return Buffer.from(`${authors}To: support@inbound.test\r\nSubject: A question\r\n\r\n${body}`);
}

export interface SenderFixture {
  readonly dns: ZoneServer;
  /** Publishes the signer's key. */
  publish(...signers: Signer[]): void;
  authenticate(
    raw: Buffer,
    envelope?: Partial<Envelope>,
    options?: Partial<AuthenticationOptions>,
  ): Promise<SenderVerdict>;
  close(): Promise<void>;
}

/** Starts an own name server. By default, no name exists. */
export async function startSenderFixture(): Promise<SenderFixture> {
  const dns = await startZoneServer();
  return {
    dns,
    publish: (...signers) => {
      for (const { selector, domain, record } of signers)
        dns.zone.set(`${selector}._domainkey.${domain}`, { TXT: [record] });
    },
    authenticate: (raw, envelope = {}, options = {}) =>
      authenticateSender(
        raw,
        { ...ENVELOPE, ...envelope },
        { dnsServers: [dns.address], timeoutMs: 10_000, spf: true, ...options },
      ),
    close: () => dns.close(),
  };
}
