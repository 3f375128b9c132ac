import type { ServerResponse } from 'node:http';

/** How the fake treats one request, in place of doing what it asks for. */
export type SesReaction = (response: ServerResponse) => void;

/** An error in the form of AWS's REST-JSON protocol. */
export function sesError(status: number, name: string, message: string): SesReaction {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': name });
    response.end(JSON.stringify({ message }));
  };
}

/** What SES says above the account's sending rate. */
export const sesThrottle = sesError(429, 'TooManyRequestsException', 'Maximum sending rate exceeded.');

/** An answer that is not AWS's: of a proxy, or of somebody else's server. */
export function sesPage(status: number, body = '<html>who are you?</html>'): SesReaction {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/html' });
    response.end(body);
  };
}

/** Takes the request and never says a word. */
export const sesHang: SesReaction = () => undefined;

/** Ends the connection where the answer should be. */
export const sesDrop: SesReaction = (response) => void response.socket?.destroy();

/** A complete head, then a byte of the body every interval, for ever. */
export function sesDrip(intervalMs = 20): SesReaction {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{');
    const timer = setInterval(() => response.write(' '), intervalMs);
    response.once('close', () => clearInterval(timer));
  };
}
