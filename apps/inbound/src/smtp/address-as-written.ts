/**
 * The address of a MAIL or RCPT command as the client wrote it, between the angle brackets and without a source route
 * (RFC 5321, appendix C: to be ignored). smtp-server turns the domain into Unicode, which is not always the way back.
 * Only for a command that smtp-server has taken: a quoted `>` does not pass it.
 */
export function addressAsWritten(command: string): string | null {
  const path = /<([^<>]*)>/.exec(command)?.[1];
  return path?.replace(/^@[^:]*:/, '') ?? null;
}
