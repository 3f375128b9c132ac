import { readFileSync } from 'node:fs';
import type { SnsFields } from '@postrider/testing';

/*
 * Messages in the formats of SES and SNS, and in expected.json the event that each makes. Addresses and ids are made up.
 */

export interface ExpectedEvent {
  type: string;
  data: Record<string, unknown>;
}

function read(file: string): string {
  return readFileSync(new URL(`fixtures/ses/${file}`, import.meta.url), 'utf8');
}

/** By the name of the sample; null: it makes no event. */
export const expectedEvents = JSON.parse(read('expected.json')) as Record<string, ExpectedEvent | null>;

export function sampleText(name: string): string {
  return read(`${name}.json`);
}

/** A sample to change at will. */
export function sample(name: string): Record<string, Record<string, unknown>> {
  return JSON.parse(sampleText(name)) as Record<string, Record<string, unknown>>;
}

export const envelopes = {
  notification: JSON.parse(read('40-sns-notification-envelope.json')) as SnsFields,
  subscriptionConfirmation: JSON.parse(read('41-sns-subscription-confirmation.json')) as SnsFields,
  plainText: JSON.parse(read('43-sns-setup-notice-plain-text.json')) as SnsFields,
};

/** SNS sends it when the subscription is taken away; its fields are those of a SubscriptionConfirmation. */
export const unsubscribeConfirmation: SnsFields = {
  ...envelopes.subscriptionConfirmation,
  Type: 'UnsubscribeConfirmation',
};
