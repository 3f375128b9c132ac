import { answerJobs, type Transfer } from '@postrider/sandboxed-threads';
import type { AuthenticationJob } from '../src/authentication/sender-authentication.ts';
import type { SenderVerdict } from '../src/verdicts.ts';

// A worker thread that fails as the message tells it to. Every other message passes all checks.

answerJobs(async (job): Promise<Transfer<SenderVerdict>> => {
  const { raw } = job as AuthenticationJob;
  const text = Buffer.from(raw).toString('latin1');
  if (text === 'throw') throw new Error('a fault that nobody catches');
  if (text === 'silence') await new Promise(() => undefined);
  return {
    value: {
      auth: { spf: 'pass', dkim: 'pass', dmarc: 'pass' },
      dmarcPolicy: 'none',
      isAuthorUnavailable: false,
    },
    transferList: [],
  };
});
