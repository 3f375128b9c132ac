import type { Secrecy } from './setting.ts';

export const MASK = '***';
// scheme://user:password@ ; the password may itself hold an @ that nobody escaped, so the last one before the path counts.
const USER_INFO = /([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:/?#@]*):[^\s/?#]*@/gi;
const PASSWORD_PARAMETER = /([?&](?:password|sslpassword|pass)=)[^&\s#]*/gi;

/** Hides the passwords of every URL inside a text; the rest stays as it was. */
export function maskUrlPasswords(text: string): string {
  return text.replace(USER_INFO, `$1:${MASK}@`).replace(PASSWORD_PARAMETER, `$1${MASK}`);
}

/** A configuration value as it may be shown. */
export function maskValue(value: unknown, secret: Secrecy | undefined): unknown {
  switch (secret) {
    case 'whole':
      return MASK;
    case 'password':
      return typeof value === 'string' ? maskUrlPasswords(value) : MASK;
    case undefined:
      return value;
  }
}
