export { attachmentType } from './attachment-parts.ts';
export { messageIdOf } from './compose.ts';
export { createDomainProvider } from './create-domain-provider.ts';
export { createMailProvider } from './create-mail-provider.ts';
export type { MailProviderOptions } from './create-mail-provider.ts';
export type { DomainFault, DomainProvider, DomainRecord, SendingDomain } from './domain-provider.ts';
export type { MailProvider, OutgoingMessage } from './mail-provider.ts';
export { sentMessageIds } from './sent-message-ids.ts';
export { withCode } from './with-code.ts';
