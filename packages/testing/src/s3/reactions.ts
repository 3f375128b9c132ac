import { drop, hang, page } from '../fake-service.ts';
import type { HttpReaction } from '../fake-service.ts';

export type S3Reaction = HttpReaction;

/** An error in the format of S3's REST-XML protocol. */
export function s3Error(status: number, code: string, message = 'as the test asked for'): S3Reaction {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
    );
  };
}

export const s3Page = page;
export const s3Hang = hang;
export const s3Drop = drop;

/** Promises `size` bytes and sends one. Then it sends nothing (`stall`), or ends the connection (`cut`). */
export function s3Part(size: number, then: 'stall' | 'cut'): S3Reaction {
  return (response) => {
    response.writeHead(200, { 'content-length': size, etag: '"part"' });
    response.write('x', () => (then === 'cut' ? response.socket?.destroy() : undefined));
  };
}
