/**
 * Local parts that belong to no account on a domain that all accounts share. Mail to the first five proves to
 * certificate authorities who controls a domain (CA/Browser Forum BR 3.2.2.4.4). Readers believe that mail
 * from the other names comes from the operator (RFC 2142).
 */
export const RESERVED_NAMES = [
  'admin',
  'administrator',
  'webmaster',
  'hostmaster',
  'postmaster',
  'abuse',
  'root',
  'mailer-daemon',
  'noreply',
  'no-reply',
  'security',
  'ssladmin',
  'ssladministrator',
  'sslwebmaster',
  'sysadmin',
] as const;
