import { createCipheriv, createHmac } from 'node:crypto';

/**
 * Messages of RFC 8446, section 4.6: an update of the key that asks for one of the client's, and a ticket of
 * one byte.
 */
const MESSAGES = {
  'key update': Buffer.of(24, 0, 0, 1, 1),
  'session ticket': Buffer.of(4, 0, 0, 14, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0),
};

/**
 * The records of a TLS 1.3 server that sends one of the messages again and again. Node has no call for it.
 * The cipher is TLS_AES_128_GCM_SHA256.
 *
 * @param secret the server's first traffic secret.
 * @param recordsSent records that the server has encrypted with it.
 */
export function handshakeFlood(
  kind: keyof typeof MESSAGES,
  secret: Buffer,
  recordsSent: number,
  count: number,
): Buffer {
  const records: Buffer[] = [];
  let [current, sequence] = [secret, recordsSent];
  for (let index = 0; index < count; index += 1) {
    records.push(encrypt(MESSAGES[kind], current, sequence));
    sequence += 1;
    if (kind === 'key update') [current, sequence] = [expand(current, 'traffic upd', 32), 0];
  }
  return Buffer.concat(records);
}

/** @param sequence of the record, below 256. */
function encrypt(message: Buffer, secret: Buffer, sequence: number): Buffer {
  const plain = Buffer.concat([message, Buffer.of(22)]); // the type of the record: handshake
  const head = Buffer.of(23, 3, 3, 0, plain.length + 16);
  const nonce = expand(secret, 'iv', 12);
  nonce.writeUInt8(nonce.readUInt8(11) ^ sequence, 11);
  const cipher = createCipheriv('aes-128-gcm', expand(secret, 'key', 16), nonce).setAAD(head);
  return Buffer.concat([head, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** HKDF-Expand-Label of section 7.1, for at most 32 bytes. */
function expand(secret: Buffer, label: string, length: number): Buffer {
  const text = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.of(0, length, text.length), text, Buffer.of(0, 1)]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, length);
}
