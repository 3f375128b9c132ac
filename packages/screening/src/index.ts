export { SenderAuthentication } from './authentication/sender-authentication.ts';
export { heldReason } from './held-reason.ts';
export { ClamdScanner } from './scanners/clamd.ts';
export { RspamdScanner } from './scanners/rspamd.ts';
export { ScreeningUnavailableError } from './scanners/screening-unavailable-error.ts';
export { verdictsFromSes } from './ses-verdicts.ts';
export type { Envelope, SenderVerdict } from './verdicts.ts';
