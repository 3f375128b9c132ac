import type { ServerResponse } from 'node:http';

/** How the fake treats one request, in place of doing what it asks for. */
export type S3Reaction = (response: ServerResponse) => void;

/** An error in the form of S3's REST-XML protocol. */
export function s3Error(status: number, code: string, message = 'as the test asked for'): S3Reaction {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
    );
  };
}

/** An answer that is not S3's: of a proxy, or of somebody else's server. */
export function s3Page(status: number, body = '<html>who are you?</html>'): S3Reaction {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/html' });
    response.end(body);
  };
}

/** Takes the request and never says a word. */
export const s3Hang: S3Reaction = () => undefined;

/** Ends the connection where the answer should be. */
export const s3Drop: S3Reaction = (response) => void response.socket?.destroy();

/** Promises `size` bytes, sends one, and then nothing more (`stall`), or ends the connection (`cut`). */
export function s3Part(size: number, then: 'stall' | 'cut'): S3Reaction {
  return (response) => {
    response.writeHead(200, { 'content-length': size, etag: '"part"' });
    response.write('x', () => (then === 'cut' ? response.socket?.destroy() : undefined));
  };
}
