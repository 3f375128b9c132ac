import { headerText } from './clean-text.ts';
import type { HeaderBlock, KnownName } from './header-block.ts';
import { ADDRESSES_MAX } from './limits.ts';
import { comparableAddress, formatMailbox, mailboxesIn } from './mailboxes.ts';
import type { Mailboxes } from './mailboxes.ts';
import { firstId, referenceIds } from './message-ids.ts';
import type { ParsedMessage } from './parsed-message.ts';

export type MessageHeader = Omit<ParsedMessage, 'text' | 'html' | 'attachments'>;

const AUTOMATIC_PRECEDENCES = ['bulk', 'list', 'junk'];

/** Reads everything that the header says. `complete` is about the header. */
export function readMessageHeader(block: HeaderBlock): MessageHeader {
  const from = mailboxesIn(block.named('from'));
  const to = mailboxesIn(block.named('to'));
  const cc = mailboxesIn(block.named('cc'));
  const replyTo = mailboxesIn(block.named('reply-to'));
  const references = referenceIds(block.named('references'));
  const subject = block.named('subject')[0];
  const authors = everyAddress(from);
  return {
    messageId: firstId(block.named('message-id')),
    inReplyTo: firstId(block.named('in-reply-to')),
    references: references.ids,
    from: from.mailboxes.slice(0, 1).map(formatMailbox).join(''),
    fromAddresses: block.hasAll('from') ? authors : null,
    to: listed(to),
    cc: listed(cc),
    replyTo: listed(replyTo),
    subject: subject === undefined ? null : headerText(subject.value),
    headers: block.listed.map(({ name, value }) => ({ name, value: headerText(value) })),
    automatic: isAutomatic(block),
    complete:
      authors !== null &&
      [block, to, cc, replyTo, references].every(({ complete }) => complete) &&
      [to, cc, replyTo].every(({ mailboxes }) => mailboxes.length <= ADDRESSES_MAX),
  };
}

function listed({ mailboxes }: Mailboxes): string[] {
  return mailboxes.slice(0, ADDRESSES_MAX).map(formatMailbox);
}

/**
 * Lists each address once.
 * @returns null when there are too many, or an address was left out
 */
function everyAddress({ mailboxes, complete }: Mailboxes): string[] | null {
  const addresses = new Set(mailboxes.map(comparableAddress));
  return complete && addresses.size <= ADDRESSES_MAX ? [...addresses] : null;
}

function isAutomatic(block: HeaderBlock): boolean {
  const words = (name: KnownName): string[] =>
    block.named(name).map(({ value }) => /^[\w-]*/.exec(value.toLowerCase())?.[0] ?? '');
  const submitted = words('auto-submitted').some((word) => word !== '' && word !== 'no');
  return submitted || words('precedence').some((word) => AUTOMATIC_PRECEDENCES.includes(word));
}
