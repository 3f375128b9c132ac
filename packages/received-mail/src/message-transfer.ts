import { answerJobs, type Transfer } from '@postrider/sandboxed-threads';
import type { ParsedMessage } from './parsed-message.ts';

/*
 * The main thread sends one message to a worker thread and gets one parsed message back. Both sides copy the
 * bytes and transfer the copy. A transferred Buffer arrives as a Uint8Array.
 */

/** Runs in the worker thread: parses each message that arrives. When `parse` rejects, the thread ends. */
export function answerMessages(parse: (raw: Buffer) => Promise<ParsedMessage>): void {
  answerJobs(async (bytes): Promise<Transfer<ParsedMessage>> => {
    const message = await parse(bufferOf(bytes as Uint8Array));
    const attachments = message.attachments.map((attachment) => {
      const content = new Uint8Array(attachment.content);
      return { ...attachment, content: content as Buffer };
    });
    const transferList = attachments.map(({ content }) => content.buffer as ArrayBuffer);
    return { value: { ...message, attachments }, transferList };
  });
}

/** Copies the bytes of a message for the worker thread. The caller keeps its own. */
export function transferOf(raw: Buffer): Transfer<Uint8Array> {
  const bytes = new Uint8Array(raw);
  return { value: bytes, transferList: [bytes.buffer] };
}

/** Turns the attachments of a transferred message back into Buffers. */
export function withBuffers(message: ParsedMessage): ParsedMessage {
  const attachments = message.attachments.map((attachment) => ({
    ...attachment,
    content: bufferOf(attachment.content),
  }));
  return { ...message, attachments };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
