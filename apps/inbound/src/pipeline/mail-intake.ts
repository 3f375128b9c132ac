import type { ReceivedMessageStore } from '@postrider/store';
import type { MailIntake, Receipt } from '../smtp/intake.ts';
import type { MailPipeline } from './mail-pipeline.ts';
import type { Screening } from './screening.ts';

export interface MailIntakeParts {
  readonly store: Pick<ReceivedMessageStore, 'accepts'>;
  readonly pipeline: MailPipeline;
  readonly screening: Screening;
}

const NOBODY: Receipt = { kind: 'refused', code: 550, words: 'No such recipient here' };
const LATER: Receipt = { kind: 'later', words: 'The message cannot be stored at the moment' };

/** What the SMTP server asks, and hands over: mail that is judged by our own scanners. */
export function createMailIntake({ store, pipeline, screening }: MailIntakeParts): MailIntake {
  return {
    async accepts(recipient) {
      return (await store.accepts(recipient)) ? 'known' : 'unknown';
    },
    async receive(raw, envelope) {
      const { mailFrom, recipients, sessionId } = envelope;
      const content = raw.subarray(envelope.traceBytes);
      const outcome = await pipeline.take({
        ...{ raw, content, mailFrom, recipients, names: { session_id: sessionId } },
        screen: (stages) => screening.screen(content, { ...envelope, rcptTo: recipients }, stages),
      });
      switch (outcome.kind) {
        case 'stored':
          return { kind: 'accepted', ids: outcome.messages.map(({ id }) => id) };
        case 'nobody':
          return NOBODY;
        case 'later':
          return LATER;
      }
    },
  };
}
