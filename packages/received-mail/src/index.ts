export { readAuthors, type WrittenAuthors } from './authors.ts';
export { cutHeader } from './cut-header.ts';
export { MessageParser, type MessageParserOptions } from './message-parser.ts';
export type { ParsedMessage, ReceivedAttachment, ReceivedHeader } from './parsed-message.ts';
