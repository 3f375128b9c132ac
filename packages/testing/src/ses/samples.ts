import { readFileSync } from 'node:fs';
import type { SnsFields } from '../sns-signer.ts';

/*
 * Messages in the formats of SES and SNS. expected.json has the event that each must become. Addresses and
 * ids are made up.
 */

export interface ExpectedSesEvent {
  type: string;
  data: Record<string, unknown>;
}

function read(file: string): string {
  return readFileSync(new URL(`fixtures/${file}`, import.meta.url), 'utf8');
}

/** The events by name of sample. Null: no event. `<stored>` stands for a value of the stored message. */
export function expectedSesEvents(): Record<string, ExpectedSesEvent | null> {
  return JSON.parse(read('expected.json')) as Record<string, ExpectedSesEvent | null>;
}

export function sesSampleText(name: string): string {
  return read(`${name}.json`);
}

/** SNS messages without a signature. */
export function snsSamples() {
  return {
    notification: JSON.parse(read('40-sns-notification-envelope.json')) as SnsFields,
    subscriptionConfirmation: JSON.parse(read('41-sns-subscription-confirmation.json')) as SnsFields,
    plainText: JSON.parse(read('43-sns-setup-notice-plain-text.json')) as SnsFields,
  };
}
