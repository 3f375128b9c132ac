import type { Secrecy } from './setting.ts';

export const MASK = '***';
// scheme://user:password@. A password may contain an unescaped @, so the match ends at the last @ before the
// path.
const USER_INFO = /([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:/?#@]*):[^\s/?#]*@/gi;
const PASSWORD_PARAMETER = /([?&](?:password|sslpassword|pass)=)[^&\s#]*/gi;

/** Hides the passwords in all URLs of a text. */
export function maskUrlPasswords(text: string): string {
  return text.replace(USER_INFO, `$1:${MASK}@`).replace(PASSWORD_PARAMETER, `$1${MASK}`);
}

/** Hides the secret part of a configuration value. */
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
