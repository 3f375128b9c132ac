import type { IncomingMessage } from 'node:http';

/** Why the rest of a body cannot be read. Ends a sentence that begins with "the body". */
export type BodyFault = 'did not arrive in time' | 'is not well-formed HTTP';

interface Break {
  readonly fault: BodyFault;
}

const EVENT = 'body-broken';
const breaks = new WeakMap<IncomingMessage, Break>();

/** Reports the fault to every reader of the body, now or later. The connection can carry no other request. */
export function breakBody(request: IncomingMessage, fault: BodyFault): void {
  if (breaks.has(request)) return;
  breaks.set(request, { fault });
  request.emit(EVENT, fault);
}

/** @returns null while the body is readable. */
export function bodyFault(request: IncomingMessage): BodyFault | null {
  return breaks.get(request)?.fault ?? null;
}

/** @returns removes the listener. */
export function onceBodyBroken(request: IncomingMessage, listener: (fault: BodyFault) => void): () => void {
  request.once(EVENT, listener);
  return () => void request.off(EVENT, listener);
}
