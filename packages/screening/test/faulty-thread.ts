import { answerJobs, type Handover } from '@postrider/sandboxed-threads';
import type { AuthenticationJob } from '../src/authentication/sender-authentication.ts';
import type { SenderVerdict } from '../src/verdicts.ts';

/* A thread that breaks where the message says so, and passes everything else. */

answerJobs(async (job): Promise<Handover<SenderVerdict>> => {
  const { raw } = job as AuthenticationJob;
  const text = Buffer.from(raw).toString('latin1');
  if (text === 'throw') throw new Error('a fault that nobody catches');
  if (text === 'exit') process.exit(7);
  if (text === 'silence') await new Promise(() => undefined);
  return { value: { auth: { spf: 'pass', dkim: 'pass', dmarc: 'pass' }, dmarcPolicy: 'none' }, transfer: [] };
});
