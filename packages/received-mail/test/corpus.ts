import { readdirSync, readFileSync } from 'node:fs';
import type { ParsedMessage } from '../src/parsed-message.ts';

/** A message of the corpus: `NAME.eml`, with the expected result in `NAME.json`. */
export interface Sample {
  readonly name: string;
  /** What the sample shows. */
  readonly why: string;
  readonly raw: Buffer;
  readonly expected: Partial<ComparableMessage>;
}

/** A parsed message with the attachment bytes as text, one byte per character. */
export type ComparableMessage = Omit<ParsedMessage, 'attachments'> & {
  attachments: { filename: string | null; contentType: string; contentId: string | null; content: string }[];
};

const FOLDER = new URL('corpus/', import.meta.url);

/** Expected values of the fields that a sample does not mention. */
const DEFAULTS: Partial<ComparableMessage> = {
  inReplyTo: null,
  references: [],
  cc: [],
  replyTo: [],
  html: null,
  attachments: [],
  automatic: false,
  complete: true,
};

export const samples: readonly Sample[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.eml'))
  .map((file) => {
    const beside = readFileSync(new URL(file.replace('.eml', '.json'), FOLDER), 'utf8');
    const { why, ...expected } = JSON.parse(beside) as Partial<ComparableMessage> & { why: string };
    const raw = readFileSync(new URL(file, FOLDER));
    return { name: file.replace('.eml', ''), why, raw, expected: { ...DEFAULTS, ...expected } };
  });

export function comparable(message: ParsedMessage): ComparableMessage {
  const attachments = message.attachments.map((attachment) => ({
    ...attachment,
    content: attachment.content.toString('latin1'),
  }));
  return { ...message, attachments };
}
