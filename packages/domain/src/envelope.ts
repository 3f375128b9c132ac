import type { EventType } from './event-types.ts';
import type { EventId } from './ids.ts';

/** The parts of a delivery's body. `data` is the JSON text that the outbox stores. */
export interface EnvelopeParts {
  readonly id: EventId;
  readonly type: EventType;
  readonly subject: string;
  readonly createdAt: Date;
  readonly data: string;
}

/**
 * A delivery's body in UTF-8, with keys in the order of contract 2.2. It includes `data` as the stored text,
 * so every retry and every replay sends the same bytes.
 */
export function envelopeBytes(parts: EnvelopeParts): Buffer {
  const head = JSON.stringify({
    id: parts.id,
    type: parts.type,
    subject: parts.subject,
    created_at: parts.createdAt.toISOString(),
  });
  return Buffer.from(`${head.slice(0, -1)},"data":${parts.data}}`, 'utf8');
}
