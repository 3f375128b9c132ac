export { addressesIn } from './mailboxes.ts';
export { MessageParser, type MessageParserOptions } from './message-parser.ts';
export { parseMessage } from './parse-message.ts';
export type { ParsedMessage, ReceivedAttachment, ReceivedHeader } from './parsed-message.ts';
