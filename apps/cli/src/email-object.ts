import type { FoundEmail } from '@postrider/store';

/** An email that an account sends, without its text. */
export function emailObject(email: FoundEmail) {
  return {
    id: email.id,
    account: email.accountId,
    kind: email.kind,
    state: email.lastEvent,
    from: email.from,
    to: email.to,
    cc: email.cc,
    bcc: email.bcc,
    /** The recipients that a suppression left out. */
    suppressed: email.suppressedAddresses,
    subject: email.subject,
    tags: email.tags,
    attachments: email.attachments,
    error: email.error,
    provider_message_id: email.providerMessageId,
    /** null: an earlier release stored the email. */
    key_id: email.apiKeyId,
    request_id: email.requestId,
    created_at: email.createdAt.toISOString(),
    sent_at: email.sentAt?.toISOString() ?? null,
  };
}

/** The lines of an email for a person. */
export function emailLines(email: FoundEmail): string[] {
  const { to, cc, bcc } = email;
  const recipients = [...to, ...cc.map((each) => `cc ${each}`), ...bcc.map((each) => `bcc ${each}`)];
  return [
    `email: ${email.id}, ${email.kind}, ${email.lastEvent}`,
    `from: ${email.from}`,
    `to: ${recipients.join(', ')}`,
    ...(email.suppressedAddresses.length === 0
      ? []
      : [`left out, suppressed: ${email.suppressedAddresses.join(', ')}`]),
    `subject: ${email.subject}`,
    `stored: ${email.createdAt.toISOString()} by ${email.apiKeyId ?? 'an unknown key'}, request ${email.requestId ?? 'unknown'}`,
    ...(email.sentAt === null ? [] : [`sent: ${email.sentAt.toISOString()}`]),
    ...(email.providerMessageId === null ? [] : [`provider's id: ${email.providerMessageId}`]),
    ...(email.error === null ? [] : [`error: ${email.error}`]),
  ];
}
