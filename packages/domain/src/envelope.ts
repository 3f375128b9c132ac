import type { EventType } from './event-types.ts';
import type { EventId } from './ids.ts';

/** What the bytes of a delivery are made of. `data` is JSON text, exactly as the outbox keeps it. */
export interface EnvelopeParts {
  readonly id: EventId;
  readonly type: EventType;
  readonly subject: string;
  readonly createdAt: Date;
  readonly data: string;
}

/**
 * The body of a delivery, UTF-8, keys in the order of contract 2.2. `data` goes in as the text that was stored,
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
