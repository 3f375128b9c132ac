import { openApiDocument } from '../../src/docs/openapi.ts';

/** A mail program writes its own fields there (RFC 8058). */
const OPEN = 'UnsubscribeRequest';

/**
 * The document whose objects have the fields that it names and no other: what we answer, and the examples. The
 * published document lets answers and deliveries gain fields, and the API ignores fields that it does not know.
 */
export function closedDocument(): object {
  return JSON.parse(JSON.stringify(openApiDocument()), (name, value: { type?: unknown } | null) =>
    value?.type === 'object' && 'properties' in value && name !== OPEN
      ? { additionalProperties: false, ...value }
      : value,
  ) as object;
}
