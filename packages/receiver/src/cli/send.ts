import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { headerPrefix, httpUrl, signingSecret } from './arguments.ts';
import { Failure, messageOf, printable, UsageError } from './io.ts';
import type { Io } from './io.ts';
import { newEvent, newSecret, signatureHeader } from './sample-event.ts';
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

export interface SendArguments {
  readonly type?: string;
  readonly to?: string;
  readonly secret?: string;
  readonly 'header-prefix'?: string;
  readonly 'wrong-signature'?: boolean;
  readonly late?: boolean;
  readonly twice?: boolean;
}

/** Twice the window that the contract recommends (6.3). */
const LATE_MS = 600_000;
/** The time limit of an attempt by default (`DELIVERY_TIMEOUT_MS`). */
const TIMEOUT_MS = 10_000;
const SHOWN_BYTES = 1_024;

/** Posts a sample, as an attempt of the service would. @returns whether each answer was the right one. */
export async function send(given: SendArguments, io: Io): Promise<boolean> {
  const { sample, target, secret, prefix } = checked(given, io);
  const event = newEvent(sample, new Date());
  const body = JSON.stringify(event);
  const isGenuine = given['wrong-signature'] !== true && given.late !== true;
  const answers: boolean[] = [];
  for (let attempt = 0; attempt < (given.twice === true ? 2 : 1); attempt += 1) {
    const at = new Date(Date.now() - (given.late === true ? LATE_MS : 0));
    const signedWith = given['wrong-signature'] === true ? newSecret() : secret;
    const { status, text } = await post(target, body, io.timeoutMs ?? TIMEOUT_MS, {
      [`${prefix}-Signature`]: signatureHeader(signedWith, body, at),
      [`${prefix}-Event-Id`]: event.id,
      [`${prefix}-Event-Type`]: event.type,
    });
    const [isRight, words] = isGenuine ? judgeGenuine(status) : judgeForged(status);
    io.print(printable(`${event.type} ${event.id}: answered ${status}: ${words}`));
    if (!isRight && text !== '') io.print(printable(`  ${text}`));
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

/** The reactions of the service to an answer (contract 6.4). */
function judgeGenuine(status: number): Judgement {
  if (status >= 200 && status < 300) return [true, 'taken, no further attempts'];
  if (status === 410) return [false, 'a dead letter at once'];
  return [false, 'Postrider would try again after 30 s'];
}

function judgeForged(status: number): Judgement {
  if (status >= 400 && status < 500) return [true, 'refused, as it should be'];
  if (status >= 200 && status < 300) return [false, 'taken, although the handler should refuse it'];
  return [false, 'the handler should refuse it with a 4xx'];
}

/** @returns the status and the beginning of the body, on one line. @throws Failure when no answer comes. */
async function post(
  target: URL,
  body: string,
  timeoutMs: number,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; text: string }> {
  const bytes = Buffer.from(body);
  const request = (target.protocol === 'https:' ? httpsRequest : httpRequest)(target, {
    method: 'POST',
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      ...{ 'Content-Type': 'application/json', 'Content-Length': bytes.length },
      ...{ 'Accept-Encoding': 'identity', 'User-Agent': 'Postrider/1' },
      ...headers,
    },
  });
  try {
    const [answer] = (await once(request.end(bytes), 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, text: await beginningOf(answer) };
  } catch (error) {
    const isTimeout = error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name);
    const reason = isTimeout ? `no answer within ${timeoutMs / 1000} s` : messageOf(error);
    throw new Failure(`${target.href} does not answer: ${reason}`, { cause: error });
  } finally {
    request.destroy();
  }
}

async function beginningOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= SHOWN_BYTES) break;
  }
  const text = Buffer.concat(chunks).subarray(0, SHOWN_BYTES).toString('utf8');
  return text.replace(/\s+/g, ' ').trim();
}
