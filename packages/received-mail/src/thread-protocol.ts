import { answerJobs, type Handover } from '@postrider/sandboxed-threads';
import type { ParsedMessage } from './parsed-message.ts';

/*
 * One message goes to a thread, one answer comes back. Bytes are copied and handed over. A Buffer arrives as a Uint8Array.
 */

/** In the thread: parses what arrives. A fault ends the thread. */
export function answerMessages(parse: (raw: Buffer) => Promise<ParsedMessage>): void {
  answerJobs(async (bytes): Promise<Handover<ParsedMessage>> => {
    const message = await parse(bufferOf(bytes as Uint8Array));
    const attachments = message.attachments.map((attachment) => {
      const content = new Uint8Array(attachment.content);
      return { ...attachment, content: content as Buffer };
    });
    const transfer = attachments.map(({ content }) => content.buffer as ArrayBuffer);
    return { value: { ...message, attachments }, transfer };
  });
}

/** The bytes of a message for a thread; the caller's stay its own. */
export function handoverOf(raw: Buffer): Handover<Uint8Array> {
  const bytes = new Uint8Array(raw);
  return { value: bytes, transfer: [bytes.buffer] };
}

/** What a thread answered, with Buffers. */
export function arrived(message: ParsedMessage): ParsedMessage {
  const attachments = message.attachments.map((attachment) => ({
    ...attachment,
    content: bufferOf(attachment.content),
  }));
  return { ...message, attachments };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
