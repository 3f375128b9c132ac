import { expectedSesEvents, sesSampleText, snsSamples } from '@postrider/testing';
import type { SnsFields } from '@postrider/testing';

/** The events by the sample's name. Null: the sample causes no event. */
export const expectedEvents = expectedSesEvents();

/** A sample to change at will. */
export function sample(name: string): Record<string, Record<string, unknown>> {
  return JSON.parse(sesSampleText(name)) as Record<string, Record<string, unknown>>;
}

export const envelopes = snsSamples();

/** SNS sends it when the subscription is taken away; its fields are those of a SubscriptionConfirmation. */
export const unsubscribeConfirmation: SnsFields = {
  ...envelopes.subscriptionConfirmation,
  Type: 'UnsubscribeConfirmation',
};
