import { answerJobs, type Handover } from '@postrider/sandboxed-threads';
import type { SenderVerdict } from '../verdicts.ts';
import { authenticateSender } from './authenticate-sender.ts';
import type { AuthenticationJob } from './sender-authentication.ts';

/*
 * What a thread of `createSenderAuthentication` runs. It is an entry point of the build: `dist/authenticate-thread.js`.
 */

answerJobs(async (job): Promise<Handover<SenderVerdict>> => {
  const { raw, envelope, options } = job as AuthenticationJob;
  return { value: await authenticateSender(raw, envelope, options), transfer: [] };
});
