import { z } from 'zod';
import type { AuthResult } from '@postrider/domain';
import type { Verdicts } from './verdicts.ts';

/** Source: Amazon SES developer guide, "Contents of notifications for Amazon SES email receiving". */
const STATUS = z.enum(['PASS', 'FAIL', 'GRAY', 'PROCESSING_FAILED', 'DISABLED']);
type Status = z.infer<typeof STATUS>;

// SES may add statuses and fields. An unknown status counts as absent.
const VERDICT = z
  .object({ status: STATUS })
  .transform(({ status }) => status)
  .nullable()
  .catch(null)
  .default(null);

const RECEIPT = z.object({
  spamVerdict: VERDICT,
  virusVerdict: VERDICT,
  spfVerdict: VERDICT,
  dkimVerdict: VERDICT,
  dmarcVerdict: VERDICT,
  // SES sends this policy only when DMARC fails.
  dmarcPolicy: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['none', 'quarantine', 'reject']))
    .catch('none'),
});

const WORDS: Readonly<Record<Status, AuthResult>> = {
  PASS: 'pass',
  FAIL: 'fail',
  GRAY: 'neutral',
  PROCESSING_FAILED: 'temperror',
  DISABLED: 'none',
};

/**
 * Reads the verdicts in the `receipt` of a `Received` notification from SES.
 *
 * An absent verdict is `none`. Only PASS and FAIL count as a spam verdict. Only FAIL counts as a virus.
 *
 * @throws ZodError when `receipt` is not an object
 */
export function verdictsFromSes(receipt: unknown): Verdicts {
  const found = RECEIPT.parse(receipt);
  return {
    auth: {
      spf: wordOf(found.spfVerdict),
      dkim: wordOf(found.dkimVerdict),
      dmarc: wordOf(found.dmarcVerdict),
    },
    dmarcPolicy: found.dmarcPolicy,
    virus: found.virusVerdict === 'FAIL',
    spam: spamOf(found.spamVerdict),
  };
}

function wordOf(status: Status | null): AuthResult {
  return status === null ? 'none' : WORDS[status];
}

function spamOf(status: Status | null): boolean | null {
  if (status === 'FAIL') return true;
  return status === 'PASS' ? false : null;
}
