import { z } from 'zod';
import type { Route, RouteDocs } from '../routes/route.ts';
import { SCHEMAS } from './schemas.ts';
import { INBOUND_DOCS } from './inbound-docs.ts';
import { SUPPRESSION_DOCS } from './resource-docs.ts';
import type { Refusal } from '../routes/route.ts';
import type { RouteDoc } from './route-doc.ts';

const SEND_REFUSALS: readonly Refusal[] = [
  'domain-not-verified',
  'idempotency-conflict',
  'validation-failed',
  'inbox-rate-limited',
  'thread-rate-limited',
];

/** By method and path, as the table has them. A route without an entry fails a test. */
export const ROUTE_DOCS: Readonly<Record<string, RouteDoc>> = {
  'POST /v1/emails': {
    operationId: 'sendEmail',
    summary: 'Send a message',
    description: 'Answered once the message is stored; it is handed to the provider afterwards.',
    request: 'EmailRequest',
    idempotent: true,
    success: { status: 200, schema: 'CreatedEmail' },
    refusals: [...SEND_REFUSALS, '413 text'],
  },
  'POST /v1/emails/batch': {
    operationId: 'sendEmails',
    summary: 'Send many messages: all of them or none',
    description: 'Costs as much of the key’s limit as it has messages.',
    request: 'EmailBatchRequest',
    idempotent: true,
    success: { status: 200, schema: 'CreatedEmails' },
    refusals: SEND_REFUSALS,
  },
  'GET /v1/emails': {
    operationId: 'listEmails',
    summary: 'List messages, newest first',
    success: { status: 200, schema: 'EmailPage' },
    paged: true,
    refusals: ['validation-failed'],
  },
  'GET /v1/emails/:id': {
    operationId: 'getEmail',
    summary: 'Read a message and what is last known of it',
    success: { status: 200, schema: 'Email' },
    refusals: ['not-found'],
  },
  'POST /internal/ses/sns': {
    operationId: 'receiveSns',
    summary: 'For SNS: take what SES reports, and mail that it received',
    description: 'Believes what SNS has signed for an allowed topic, and nothing else.',
    request: 'SnsMessage',
    requestMedia: {
      types: ['text/plain; charset=UTF-8'],
      words: 'read as JSON whatever its Content-Type says: SNS says that it is plain text',
    },
    success: { status: 200, schema: 'Received' },
    refusals: ['400 validation-failed'],
  },
  ...SUPPRESSION_DOCS,
  ...INBOUND_DOCS,
};

const LEFT = Object.fromEntries(
  Object.entries(SCHEMAS).map(([id, schema]) => [id, z.unknown().meta({ id, ...schema })]),
);

/** The description of a route of the table. */
export function docsOf(route: Route & { readonly docs?: RouteDocs }): RouteDocs {
  if (route.docs !== undefined) return route.docs;
  const doc = ROUTE_DOCS[`${route.method.toUpperCase()} ${route.path}`];
  if (doc === undefined) throw new Error(`${route.path} is not described`);
  const { request, success, query, ...more } = doc;
  return {
    ...more,
    ...(request === undefined ? {} : { request: LEFT[request] as z.ZodType }),
    ...(query === undefined
      ? {}
      : {
          query: z.object(
            Object.fromEntries(
              query.map(({ name, description, schema }) => [
                name,
                z
                  .unknown()
                  .meta({ description, ...schema })
                  .optional(),
              ]),
            ),
          ),
        }),
    success: {
      status: success.status,
      body:
        success.schema === 'page'
          ? 'html'
          : success.schema === 'file'
            ? 'file'
            : (LEFT[success.schema] as z.ZodType),
      ...(success.also === undefined ? {} : { also: success.also }),
      ...(success.orPage === undefined ? {} : { orHtml: true as const }),
    },
  };
}
