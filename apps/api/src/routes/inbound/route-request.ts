import { LIMITS, parseInboundMatch } from '@postrider/domain';
import type { EventType, InboundMatch } from '@postrider/domain';
import { z } from 'zod';
import { parseFields, resourceFields } from '../../http/fields.ts';
import type { FieldsParse } from '../../http/fields.ts';
import { shownText } from '../../http/shown-text.ts';
import { requestedEndpoint as endpoint, requestedEventTypes as eventTypes } from '../webhooks.ts';

/** What a request for a rule asks for, checked. */
interface RouteRequestFields {
  readonly match: InboundMatch;
  /** Normalised. */
  readonly endpoint: string;
  /** Each once, in the order given; never empty. */
  readonly events: readonly EventType[];
  readonly name?: string | null | undefined;
}

const MESSAGE_TYPES = ['message.received', 'message.held'] as const satisfies readonly EventType[];

const match = z
  .string({ error: 'is not a string' })
  .meta({ description: 'An address, or `*@` and a domain that the account has verified.' })
  .transform((text, context): InboundMatch => {
    const parsed = parseInboundMatch(text);
    if (parsed !== null) return parsed;
    context.addIssue('is neither a bare email address nor *@ and a domain');
    return z.NEVER;
  });

const messageType = z.enum(MESSAGE_TYPES, { error: `is not one of ${MESSAGE_TYPES.join(', ')}` });

/** The body of `POST /v1/inbound/routes`. */
export const routeRequest = z.object({
  match,
  endpoint,
  // To a webhook an empty list would mean every type.
  events: eventTypes(messageType).transform((types) => (types.length === 0 ? MESSAGE_TYPES : types)),
  name: shownText(LIMITS.inboundNameLength).meta({ maxLength: LIMITS.inboundNameLength }).nullish(),
});

export function parseRouteRequest(body: unknown): FieldsParse<RouteRequestFields> {
  return parseFields(body, routeRequest, ['match', 'endpoint'], resourceFields);
}
