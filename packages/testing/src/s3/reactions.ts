import type { ServiceReaction } from '../fake-service.ts';

/** An error in the format of S3's REST-XML protocol. */
export function s3Error(status: number, code: string, message = 'as the test asked for'): ServiceReaction {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
    );
  };
}

/** Promises `size` bytes and sends one. Then it sends nothing (`stall`), or ends the connection (`cut`). */
export function s3Part(size: number, then: 'stall' | 'cut'): ServiceReaction {
  return (response) => {
    response.writeHead(200, { 'content-length': size, etag: '"part"' });
    response.write('x', () => (then === 'cut' ? response.socket?.destroy() : undefined));
  };
}
