import type { HttpsAnswer } from '@postrider/notifications';
import { certificateFromPem } from '@postrider/notifications';
import { systemClock } from '@postrider/runtime';
import { createSnsSigner, setup, snsSamples } from '@postrider/testing';
import type { SnsFields } from '@postrider/testing';
import type { SnsAccess } from '../src/sns-access.ts';

const samples = snsSamples();

/** The one bucket that mail may be in. */
export const MAIL_BUCKET = 'mail-in';

const now = (): string => new Date().toISOString();

/** SNS as the API under test sees it: its key, one topic that is allowed, and what it answers when it is asked. */
export interface TestSns {
  readonly access: SnsAccess;
  /** Addresses that were asked for. */
  readonly asked: readonly string[];
  answerWith(answer: HttpsAnswer): void;
  /** A signed notification of this moment with an id of its own, unless it is given others. */
  notification(message: unknown, more?: SnsFields, version?: '1' | '2'): SnsFields;
  confirmation(more?: SnsFields): SnsFields;
  /** A message as it is, but for its time. */
  signNow(fields: SnsFields): SnsFields;
}

/** Registers a hook that creates it for the test file. */
export const setupSns = (): TestSns => setup(createTestSns, async () => undefined);

export async function createTestSns(): Promise<TestSns> {
  const signer = await createSnsSigner();
  const asked: string[] = [];
  let answer: HttpsAnswer = { kind: 'answered', statusCode: 200, body: Buffer.from('<Confirmed/>') };
  let made = 0;
  return {
    asked,
    access: {
      trust: {
        topics: new Set([String(samples.notification['TopicArn'])]),
        certificates: certificateFromPem(signer.certPem),
        allowSha1: false,
        clock: systemClock,
      },
      mailBuckets: new Set([MAIL_BUCKET]),
      async get(url) {
        asked.push(url.href);
        return answer;
      },
    },
    answerWith: (given) => void (answer = given),
    notification(message, more = {}, version) {
      const text = typeof message === 'string' ? message : JSON.stringify(message);
      const MessageId = `message-${(made += 1)}`;
      const fields = { ...samples.notification, MessageId, Timestamp: now(), Message: text, ...more };
      return signer.sign(fields, version);
    },
    confirmation: (more = {}) =>
      signer.sign({ ...samples.subscriptionConfirmation, Timestamp: now(), ...more }),
    signNow: (fields) => signer.sign({ ...fields, Timestamp: now() }),
  };
}
