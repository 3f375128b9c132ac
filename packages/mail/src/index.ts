export { messageIdOf } from './compose.ts';
export { createMailProvider } from './create-mail-provider.ts';
export type { MailProviderOptions } from './create-mail-provider.ts';
export type { MailProvider, OutgoingMessage } from './mail-provider.ts';
