import { answerJobs, type Transfer } from '@postrider/sandboxed-threads';
import type { SenderVerdict } from '../verdicts.ts';
import { authenticateSender } from './authenticate-sender.ts';
import type { AuthenticationJob } from './sender-authentication.ts';

// The script of the worker threads of `SenderAuthentication`. The build bundles it as
// `dist/authenticate-thread.js`.

answerJobs(async (job): Promise<Transfer<SenderVerdict>> => {
  const { raw, envelope, options } = job as AuthenticationJob;
  return { value: await authenticateSender(raw, envelope, options), transferList: [] };
});
