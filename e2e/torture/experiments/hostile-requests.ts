import { gzipSync } from 'node:zlib';
import type { World } from '../harness/world/world.ts';
import type { Spoken } from './raw-client.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const HTTP_CHUNK = Buffer.concat([
  Buffer.from('10000\r\n'),
  Buffer.alloc(64 * KIB, ' '),
  Buffer.from('\r\n'),
]);
const SPACES = Buffer.alloc(64 * KIB, ' ');

/** A request that must be refused, and how. */
export interface HostileRequest {
  readonly name: string;
  readonly status: number;
  readonly spoken: Spoken;
}

/** Half of a head, then a byte a second. */
export const DAWDLER: Spoken = {
  head: 'GET /v1/webhooks HTTP/1.1\r\nHost: a\r\nX: ',
  piece: Buffer.from('x'),
  everyMs: 1_000,
};

/** Too long, without an end, or of unknown length. */
export function overlongRequests({ api }: World): HostileRequest[] {
  const key = `Authorization: ${api.authorization}`;
  const chunked = 'Transfer-Encoding: chunked';
  const webhook = gzipSync('{"endpoint":"https://hooks.invalid/"}');
  const head = (path: string, ...lines: string[]): string =>
    [`POST ${path} HTTP/1.1`, 'Host: a', 'Content-Type: application/json', ...lines, '', ''].join('\r\n');
  const tooLong = `Content-Length: ${64 * KIB + 1}`;
  const zipped = ['Content-Encoding: gzip', 'Connection: close', `Content-Length: ${webhook.length}`];
  const kind = (
    name: string,
    status: number,
    from: string,
    piece: Buffer,
    times?: number,
  ): HostileRequest => ({
    name,
    status,
    spoken: { head: from, piece, ...(times === undefined ? {} : { times }) },
  });
  const big = head('/v1/emails', `Content-Length: ${32 * MIB}`);
  return [
    kind('32 MiB without a key', 401, big, SPACES, (32 * MIB) / SPACES.length),
    kind('chunks without a key or an end', 401, head('/v1/emails', chunked), HTTP_CHUNK),
    kind('64 KiB and a byte', 413, head('/v1/webhooks', key, tooLong), SPACES),
    kind('chunks without an end', 413, head('/v1/webhooks', key, chunked), HTTP_CHUNK),
    // Its length is known only when it is unpacked: nothing encoded is taken.
    kind('a gzip body', 400, head('/v1/webhooks', key, ...zipped), webhook, 1),
  ];
}
