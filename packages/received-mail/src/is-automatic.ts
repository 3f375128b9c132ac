import type { HeaderFields } from './header-fields.ts';

const AUTOMATIC_PRECEDENCES = ['bulk', 'list', 'junk', 'auto_reply'];
/** Fields that only programs write. The first two are older than RFC 3834. */
const AUTOMATIC_FIELDS = ['x-autoreply', 'x-autorespond', 'list-id', 'list-unsubscribe'];

/** True when the header says that a program sent the message. Such mail gets no answer (RFC 3834 2). */
export function isAutomatic(fields: HeaderFields): boolean {
  const words = (...keys: string[]): string[] => fields.named(...keys).map(firstWord);
  return (
    words('auto-submitted').some((word) => word !== '' && word !== 'no') ||
    words('precedence', 'x-precedence').some((word) => AUTOMATIC_PRECEDENCES.includes(word)) ||
    words('x-auto-response-suppress').some((word) => word !== '' && word !== 'none') ||
    words('content-type').some((word) => word === 'multipart/report') ||
    fields.named(...AUTOMATIC_FIELDS).length > 0
  );
}

/** The first word in lower case. A comment may stand before it. */
function firstWord(value: string): string {
  const withoutComments = value.replaceAll(/\([^()]*\)/g, '').trim();
  return /^[\w/-]*/.exec(withoutComments.toLowerCase())?.[0] ?? '';
}
