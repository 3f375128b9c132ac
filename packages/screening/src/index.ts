export { SenderAuthentication } from './authentication/sender-authentication.ts';
export { heldReason } from './held-reason.ts';
export { ClamdScanner, type ClamdOptions } from './scanners/clamd.ts';
export { RspamdScanner, type RspamdOptions } from './scanners/rspamd.ts';
export { ScreeningUnavailableError } from './scanners/screening-unavailable-error.ts';
export { verdictsFromSes } from './ses-verdicts.ts';
export type { DmarcPolicy, Envelope, SenderVerdict, Verdicts } from './verdicts.ts';
