import { attempt } from './attempt.ts';
import { headerPrefix, httpUrl, signingSecret } from './arguments.ts';
import type { Arguments } from './arguments.ts';
import { escapeUnprintable, UsageError } from './io.ts';
import type { Io } from './io.ts';
import { newEvent, newSecret } from './sample-event.ts';
import { SAMPLES } from './samples.ts';

export const SEND_OPTIONS = {
  type: { type: 'string' },
  to: { type: 'string' },
  secret: { type: 'string' },
  'header-prefix': { type: 'string' },
  'wrong-signature': { type: 'boolean' },
  late: { type: 'boolean' },
  twice: { type: 'boolean' },
} as const;

type SendArguments = Arguments<typeof SEND_OPTIONS>;

/** Twice the age up to which a handler should accept a signature (contract 6.3). */
const LATE_MS = 600_000;

/** Posts a sample, as an attempt of the service would. @returns whether each answer was the right one. */
export async function send(given: SendArguments, io: Io): Promise<boolean> {
  const { sample, target, secret, prefix } = checked(given, io);
  const event = newEvent(sample, new Date());
  const isValid = given['wrong-signature'] !== true && given.late !== true;
  const answers: boolean[] = [];
  for (let request = 0; request < (given.twice === true ? 2 : 1); request += 1) {
    const at = new Date(Date.now() - (given.late === true ? LATE_MS : 0));
    const signedWith = given['wrong-signature'] === true ? newSecret() : secret;
    const { status, text } = await attempt(event, { target, secret: signedWith, prefix, at }, io);
    const [isRight, words] = isValid ? judgeValid(status) : judgeInvalid(status);
    io.print(escapeUnprintable(`${event.type} ${event.id}: answered ${status}: ${words}`));
    if (!isRight && text !== '') io.print(escapeUnprintable(`  ${text}`));
    answers.push(isRight);
  }
  return answers.every(Boolean);
}

function checked(given: SendArguments, io: Io) {
  if (given.type === undefined) throw new UsageError('--type is missing');
  const sample = SAMPLES.find(({ type }) => type === given.type);
  if (sample === undefined) throw new UsageError(`there is no event type ${given.type}`);
  if (given.to === undefined) throw new UsageError('--to is missing');
  const target = httpUrl('--to', given.to);
  const secret = signingSecret(given.secret, io);
  if (secret === undefined) throw new UsageError('--secret is missing');
  return { sample, target, secret, prefix: headerPrefix(given['header-prefix']) };
}

type Judgement = readonly [isRight: boolean, words: string];

/** The reactions of the service to the answer to a valid request (contract 6.4). */
function judgeValid(status: number): Judgement {
  if (status >= 200 && status < 300) return [true, 'taken, no further attempts'];
  if (status === 410) return [false, 'a dead letter at once'];
  return [false, 'Postrider would try again after 30 s'];
}

/** A handler must refuse a request with a wrong signature or an old time. */
function judgeInvalid(status: number): Judgement {
  if (status >= 400 && status < 500) return [true, 'refused, as it should be'];
  if (status >= 200 && status < 300) return [false, 'taken, although the handler should refuse it'];
  return [false, 'the handler should refuse it with a 4xx'];
}
