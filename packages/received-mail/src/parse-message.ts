import { readBody } from './body.ts';
import { readHeaderBlock } from './header-block.ts';
import { readMessageHeader } from './message-header.ts';
import type { ParsedMessage } from './parsed-message.ts';
import { readParts } from './parts.ts';

/**
 * Parses a message. It never throws: a message that cannot be read gives what its header says, with
 * `complete: false`. The worker thread limits its time and memory: see `MessageParser`.
 *
 * @param raw RFC 5322, with LF or CRLF
 */
export async function parseMessage(raw: Buffer): Promise<ParsedMessage> {
  try {
    const block = readHeaderBlock(raw);
    const header = readMessageHeader(block);
    const parts = readParts(block);
    const body = await readBody(parts.root);
    return { ...header, ...body, complete: header.complete && parts.complete && body.complete };
  } catch {
    return parseHeaderOnly(raw);
  }
}

/** What the header alone tells, in some milliseconds whatever the message. It never throws. */
export function parseHeaderOnly(raw: Buffer): ParsedMessage {
  const nothing = { text: null, html: null, attachments: [], complete: false };
  try {
    return { ...readMessageHeader(readHeaderBlock(raw)), ...nothing };
  } catch {
    const empty = readMessageHeader(readHeaderBlock(Buffer.alloc(0)));
    return { ...empty, ...nothing, fromAddresses: null };
  }
}
