import type { MailHandOver, MailWork, TakenEmail } from '../src/mail-work.ts';

/** Takes one message. @returns null when it is not there for this job. */
export async function takeOne(work: MailWork, job: MailHandOver): Promise<TakenEmail | null> {
  const [taking] = await work.take([job], 30);
  return (await taking) ?? null;
}
