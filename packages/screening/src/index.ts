export { SenderAuthentication } from './authentication/sender-authentication.ts';
export { heldReason } from './held-reason.ts';
export { createClamdScanner, type ClamdOptions } from './scanners/clamd.ts';
export { createRspamdScanner, type RspamdOptions } from './scanners/rspamd.ts';
export {
  ScreeningUnavailableError,
  type SpamScan,
  type SpamScanner,
  type VirusScan,
  type VirusScanner,
} from './scanners/scanner.ts';
export { verdictsFromSes } from './ses-verdicts.ts';
export type { DmarcPolicy, Envelope, SenderVerdict, Verdicts } from './verdicts.ts';
