import { shortLine } from './clean-text.ts';
import { HeaderFields } from './header-fields.ts';
import { FIELD_BYTES_MAX } from './limits.ts';

/** Characters of a name. A file system takes 255 bytes, and a character may have four. */
const SUBJECT_CHARACTERS_MAX = 60;

/**
 * Names an attachment that has no name: a message after its subject, as mail programs do when they save a
 * message. Null: this type gives no name.
 */
export function nameByType(contentType: string, content: Buffer): string | null {
  switch (contentType) {
    case 'message/rfc822':
    case 'message/global':
      return `${subjectOf(content) || 'message'}.eml`;
    case 'text/calendar':
    case 'application/ics':
      return 'invite.ics';
    default:
      return null;
  }
}

/** The subject as a name on every file system: no `/`, no `:`, no invisible character, no dot at an end. */
function subjectOf(message: Buffer): string {
  // With a line end in front, an empty first line also ends the header.
  const [header = ''] = `\n${message.toString('latin1', 0, FIELD_BYTES_MAX)}`.split(/\n\r?\n/, 1);
  const [line] = /^subject[ \t]*:.*(?:\r?\n[ \t].*)*/im.exec(header) ?? [];
  if (line === undefined) return '';
  const subject = new HeaderFields([{ key: 'subject', line }]).text('subject') ?? '';
  const safe = shortLine(subject.replaceAll(/\p{Cf}/gu, '').replaceAll(/["*/:<>?\\|]/g, '_'));
  return trimmed(Array.from(trimmed(safe)).slice(0, SUBJECT_CHARACTERS_MAX).join(''));
}

function trimmed(name: string): string {
  return name.replaceAll(/^[. ]+|[. ]+$/g, '');
}
