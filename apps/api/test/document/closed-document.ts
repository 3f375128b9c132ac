import { EVENT_TYPES } from '@postrider/domain';
import { openApiDocument } from '../../src/docs/openapi.ts';

/** A mail program writes its own fields there (RFC 8058). */
const OPEN = 'UnsubscribeRequest';

/**
 * The document whose objects have the fields that it names and no other, and that knows no further type of event:
 * what we answer, and the examples. The published document lets answers and deliveries gain fields and types, and
 * the API ignores fields that it does not know.
 */
export function closedDocument(): object {
  return JSON.parse(JSON.stringify(openApiDocument()), (name, value: { type?: unknown } | null) => {
    if (name === 'EventType') return { ...value, enum: EVENT_TYPES };
    return value?.type === 'object' && 'properties' in value && name !== OPEN
      ? { additionalProperties: false, ...value }
      : value;
  }) as object;
}
