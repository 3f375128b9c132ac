import { EVENT_DATA } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import { SAMPLES } from '@postrider/receiver/samples';
import { z } from 'zod';
import { idOf, text, time } from '../routes/schemas.ts';
import { answerSchema } from './named-schemas.ts';
import type { JsonObject } from './named-schemas.ts';
import { DELIVERY_TAG } from './tags.ts';

const UNSIGNED = 'Not covered by the signature: use';

/** The operation that posts an event of this type to a customer's webhook. */
export function delivery(type: EventType): JsonObject {
  const sample = SAMPLES.find((each) => each.type === type);
  const header = (name: string, description: string, example: string | undefined): JsonObject => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
    example,
  });
  return {
    operationId: `deliver${type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: [DELIVERY_TAG],
    security: [], // the signature in the headers takes the place of a key
    summary: `What is posted to webhooks that receive ${type}`,
    parameters: [
      header(
        'Service-Signature',
        '`t=<unix seconds>,v1=<hex>`: see docs/verify-signatures.md.',
        `t=1795244772,v1=${'5f2b'.repeat(16)}`,
      ),
      header('Service-Event-Id', `The event’s id. ${UNSIGNED} \`id\` of the verified body.`, sample?.id),
      header('Service-Event-Type', `The event’s type. ${UNSIGNED} \`type\` of the verified body.`, type),
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: envelopeSchema(type),
          example: sample,
        },
      },
    },
    responses: {
      '2XX': { description: 'Taken: not sent again.' },
      '410': { description: 'Never send this again: a dead letter at once.' },
      default: { description: 'Sent again later, 8 attempts in all; then a dead letter.' },
    },
  };
}

/** The JSON Schema of the body of a delivery (contract 2.2 and 2.3). */
export function envelopeSchema(type: EventType): JsonObject {
  const envelope = z.object({
    id: idOf('event'),
    type: z.literal(type),
    subject: text,
    created_at: time,
    data: EVENT_DATA[type],
  });
  return answerSchema(envelope);
}
