import type { IncomingMessage } from 'node:http';

/** Why the rest of a body cannot be read. Ends a sentence that begins with "the body". */
export type BodyFault = 'did not arrive in time' | 'is not well-formed HTTP';

const EVENT = 'body-broken';
const faults = new WeakMap<IncomingMessage, BodyFault>();

/**
 * Stores the fault and tells the listeners of `onceBodyBroken`. A later reader finds it with `bodyFault`. The
 * connection can carry no other request.
 */
export function breakBody(request: IncomingMessage, fault: BodyFault): void {
  if (faults.has(request)) return;
  faults.set(request, fault);
  request.emit(EVENT, fault);
}

/** @returns null while the body is readable. */
export function bodyFault(request: IncomingMessage): BodyFault | null {
  return faults.get(request) ?? null;
}

export function onceBodyBroken(request: IncomingMessage, listener: (fault: BodyFault) => void): void {
  request.once(EVENT, listener);
}
