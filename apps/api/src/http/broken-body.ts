import type { IncomingMessage } from 'node:http';

/** Why the rest of a body will never be read; said of the body. */
export type BodyFault = 'did not arrive in time' | 'is not well-formed HTTP';

interface Break {
  readonly fault: BodyFault;
}

const EVENT = 'body-broken';
const breaks = new WeakMap<IncomingMessage, Break>();

/** Whoever reads the body, now or later, is told that there is no more of it. The connection can carry no other request. */
export function breakBody(request: IncomingMessage, fault: BodyFault): void {
  if (breaks.has(request)) return;
  breaks.set(request, { fault });
  request.emit(EVENT, fault);
}

/** @returns null while the body may still be read to its end. */
export function bodyFault(request: IncomingMessage): BodyFault | null {
  return breaks.get(request)?.fault ?? null;
}

/** @returns takes the listener away. */
export function onceBodyBroken(request: IncomingMessage, listener: (fault: BodyFault) => void): () => void {
  request.once(EVENT, listener);
  return () => void request.off(EVENT, listener);
}
