import { gzipSync } from 'node:zlib';
import type { World } from '../harness/world/world.ts';
import type { Spoken } from './raw-client.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const SPACES = Buffer.alloc(64 * KIB, ' ');
const HTTP_CHUNK = Buffer.concat([Buffer.from('10000\r\n'), SPACES, Buffer.from('\r\n')]);

/** A request that must be refused, and how. */
export interface HostileRequest {
  readonly name: string;
  readonly status: number;
  readonly spoken: Spoken;
}

/** Half of a head, then a byte a second. */
export const SLOW_HEAD: Spoken = {
  head: 'GET /v1/webhooks HTTP/1.1\r\nHost: a\r\nX: ',
  piece: Buffer.from('x'),
  everyMs: 1_000,
};

/** Too long, without an end, or of unknown length. */
export function overlongRequests({ api }: World): HostileRequest[] {
  const key = `Authorization: ${api.authorization}`;
  const chunked = 'Transfer-Encoding: chunked';
  const webhook = gzipSync('{"endpoint":"https://hooks.invalid/"}');
  const headOf = (path: string, ...lines: string[]): string =>
    [`POST ${path} HTTP/1.1`, 'Host: a', 'Content-Type: application/json', ...lines, '', ''].join('\r\n');
  const tooLong = `Content-Length: ${64 * KIB + 1}`;
  const zipped = ['Content-Encoding: gzip', 'Connection: close', `Content-Length: ${webhook.length}`];
  const request = (
    name: string,
    status: number,
    head: string,
    piece: Buffer,
    times?: number,
  ): HostileRequest => ({
    name,
    status,
    spoken: { head, piece, ...(times === undefined ? {} : { times }) },
  });
  const big = headOf('/v1/emails', `Content-Length: ${32 * MIB}`);
  return [
    request('32 MiB without a key', 401, big, SPACES, (32 * MIB) / SPACES.length),
    request('chunks without a key or an end', 401, headOf('/v1/emails', chunked), HTTP_CHUNK),
    request('64 KiB and a byte', 413, headOf('/v1/webhooks', key, tooLong), SPACES),
    request('chunks without an end', 413, headOf('/v1/webhooks', key, chunked), HTTP_CHUNK),
    // The length of an encoded body is known only after unpacking, so the API refuses every encoding.
    request('a gzip body', 400, headOf('/v1/webhooks', key, ...zipped), webhook, 1),
  ];
}
