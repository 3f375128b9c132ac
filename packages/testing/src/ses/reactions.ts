import type { ServiceReaction } from '../fake-service.ts';

/** An error in the format of AWS's REST-JSON protocol. */
export function sesError(status: number, name: string, message: string): ServiceReaction {
  return (response) => {
    response.writeHead(status, {
      'content-type': 'application/json',
      'x-amzn-errortype': name,
      'x-amzn-requestid': 'fake',
    });
    response.end(JSON.stringify({ message }));
  };
}

/** The answer above the account's sending rate. */
export const sesThrottle = sesError(429, 'TooManyRequestsException', 'Maximum sending rate exceeded.');

/** A complete head, then one byte of the body per interval, without end. */
export function sesDrip(intervalMs = 20): ServiceReaction {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{');
    const timer = setInterval(() => response.write(' '), intervalMs);
    response.once('close', () => clearInterval(timer));
  };
}
