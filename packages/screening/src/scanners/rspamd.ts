import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Envelope } from '../verdicts.ts';
import { ScreeningUnavailableError } from './screening-unavailable-error.ts';

export interface RspamdOptions {
  /** A normal rspamd worker. */
  readonly target: { readonly host: string; readonly port: number };
  /** A score above this one is spam. Null: rspamd decides by its own thresholds, and returns an action. */
  readonly spamThreshold: number | null;
  /**
   * True when the SMTP client is the sending server. Over LMTP the client is a mail server of the operator.
   * Its address and name say nothing about the sender, so rspamd gets neither.
   */
  readonly clientIsSender: boolean;
  /** Time limit of a scan, connecting included. */
  readonly timeoutMs: number;
}

const ANSWER_BYTES_MAX = 1_048_576;
/** The actions that mean spam. `soft reject` and `greylist` only ask for a retry. */
const SPAM_ACTIONS: ReadonlySet<string> = new Set(['reject', 'add header', 'rewrite subject']);

const ANSWER = z.object({ score: z.number(), action: z.string() });

/**
 * Scans with rspamd (https://docs.rspamd.com/developers/protocol), by `POST /checkv2`. Each scan opens its
 * own connection.
 */
export class RspamdScanner {
  readonly #options: RspamdOptions;

  constructor(options: RspamdOptions) {
    this.#options = options;
  }

  /** @returns whether the message is spam. @throws ScreeningUnavailableError */
  async scan(raw: Uint8Array, envelope: Envelope): Promise<boolean> {
    const { spamThreshold, clientIsSender } = this.#options;
    const answer = await post(this.#options, raw, headersOf(envelope, clientIsSender));
    const { score, action } = readAnswer(answer);
    return spamThreshold === null ? SPAM_ACTIONS.has(action) : score > spamThreshold;
  }
}

type Headers = Readonly<Record<string, string | string[]>>;

function post(
  { target, timeoutMs }: RspamdOptions,
  raw: Uint8Array,
  envelopeHeaders: Headers,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { ...envelopeHeaders, 'Content-Length': raw.length };
    const sent = request({ ...target, path: '/checkv2', method: 'POST', agent: false, headers });
    // Only the first call counts: a promise settles once.
    const settle = (act: () => void) => {
      clearTimeout(deadline);
      act();
      sent.destroy();
    };
    const fail = (reason: string, cause?: Error) =>
      settle(() => reject(new ScreeningUnavailableError('rspamd', reason, { cause })));
    const deadline = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs);
    sent.on('error', (error) => fail(error.message, error));
    sent.on('close', () => fail('closed without an answer'));
    sent.on('upgrade', () => fail('switched to another protocol'));
    sent.once('response', (response) => {
      readBody(response).then(
        (body) => settle(() => resolve(body)),
        (error: unknown) => fail((error as Error).message, error as Error),
      );
    });
    sent.end(raw);
  });
}

function headersOf({ remoteAddress, helo, mailFrom, rcptTo }: Envelope, clientIsSender: boolean): Headers {
  return {
    ...(clientIsSender ? { IP: headerValue(remoteAddress), Helo: headerValue(helo) } : {}),
    From: headerValue(mailFrom),
    Rcpt: rcptTo.map(headerValue),
  };
}

/**
 * Node writes one byte per character, so the text becomes its UTF-8 bytes. RFC 9110 allows them, and rspamd
 * reads them as UTF-8.
 */
function headerValue(text: string): string {
  return Buffer.from(text)
    .toString('latin1')
    .replace(/[\0-\x1f\x7f]/g, '');
}

async function readBody(response: IncomingMessage): Promise<string> {
  if (response.statusCode !== 200) throw new Error(`answered with status ${response.statusCode ?? 0}`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`answered with more than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function readAnswer(text: string): z.infer<typeof ANSWER> {
  try {
    return ANSWER.parse(JSON.parse(text));
  } catch (error) {
    throw new ScreeningUnavailableError('rspamd', 'answered what cannot be read', { cause: error });
  }
}
