import type { MailWork } from '../src/mail/mail-work.ts';
import type { MailClaim, TakenEmail } from '../src/mail/take-mail.ts';

/** Takes one message. @returns null when it is not there for this job. */
export async function takeOne(work: MailWork, job: MailClaim): Promise<TakenEmail | null> {
  const [taking] = await work.take([job], 30);
  return (await taking) ?? null;
}

/** Takes one message that is there. @throws Error when it is not */
export async function takeHeld(work: MailWork, job: MailClaim): Promise<TakenEmail> {
  const email = await takeOne(work, job);
  if (email === null) throw new Error('the message was not taken');
  return email;
}
