import { answerMessages } from './message-transfer.ts';
import { parseMessage } from './parse-message.ts';

// The script of the worker threads of `MessageParser`. The build bundles it as `dist/parse-thread.js`.

answerMessages(parseMessage);
