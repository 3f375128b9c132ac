import type { Statement } from '../../db/statement.ts';

/**
 * Takes back that a hand-over was counted: it ended unrecorded, and the message was not the cause. A take that never
 * committed counted nothing, and left the claim as it was. Not fenced otherwise: another worker may have taken the message.
 *
 * $1 email id, $2 claim of the job.
 */
export const forgiveFault: Statement = {
  name: 'forgive-fault',
  text: `
    update email_sends
    set unrecorded = greatest(0, unrecorded - 1)
    where email_id = $1 and claim > $2`,
};
