import { answerMessages } from './thread-protocol.ts';
import { parseMessage } from './parse-message.ts';

/*
 * What a thread of `createMessageParser` runs. It is an entry point of the build: `dist/parse-thread.js`.
 */

answerMessages(parseMessage);
