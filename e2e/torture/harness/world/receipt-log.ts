import { createHash } from 'node:crypto';
import { SignatureVerificationError, verifySignature } from '@postrider/receiver';
import type { Behaviour, Exchange, Reaction, ReceivedRequest } from '@postrider/testing';
import type { Receipt } from '../checker/history.ts';
import { nowMs } from '../times.ts';

/** The tolerance that the contract recommends to receivers (section 6.3). */
const TOLERANCE_SECONDS = 300;

/** The webhook of a receipt. */
interface Recipient {
  readonly webhookId: string;
  readonly signingSecret: string;
  /** The largest error of the sender's clock. */
  readonly signatureOffMs: number;
}

/**
 * Writes a line for each request before the reaction, and adds the answer and its time afterwards.
 */
export function logging(recipient: Recipient, reaction: Reaction, log: (receipt: Receipt) => void): Reaction {
  if (typeof reaction !== 'function' && reaction.beforeBody === true) {
    return {
      ...reaction,
      play: (exchange) => playLogged(reaction, exchange, receiptOf(recipient, exchange.request, false), log),
    };
  }
  return (request) => {
    const behaviour = typeof reaction === 'function' ? reaction(request) : reaction;
    return {
      ...behaviour,
      play: (exchange) => playLogged(behaviour, exchange, receiptOf(recipient, request, true), log),
    };
  };
}

async function playLogged(
  behaviour: Behaviour,
  exchange: Exchange,
  receipt: Receipt,
  log: (receipt: Receipt) => void,
): Promise<void> {
  log(receipt);
  const { response } = exchange;
  // Node reports the end of a write in the next round of the event loop. The sender may have the answer
  // before.
  let writtenAtMs: number | null = null;
  response.once('prefinish', () => (writtenAtMs = nowMs()));
  const sent = (): void => {
    receipt.status = behaviour.status;
    receipt.answeredAtMs = writtenAtMs ?? nowMs();
  };
  response.once('finish', sent);
  await behaviour.play(exchange);
  // A behaviour that writes raw bytes or an endless body never finishes the response.
  if (behaviour.status !== null && !response.writableEnded && !exchange.socket.destroyed) sent();
}

function receiptOf(recipient: Recipient, request: ReceivedRequest, bodyRead: boolean): Receipt {
  const header = String(request.headers['service-signature']);
  return {
    eventId: String(request.headers['service-event-id']),
    webhookId: recipient.webhookId,
    arrivedAtMs: performance.timeOrigin + request.receivedAtMs,
    bodyEventId: bodyRead ? eventIdIn(request.body) : null,
    bodySha256: bodyRead ? createHash('sha256').update(request.body).digest('hex') : null,
    signature: bodyRead ? judge(header, request.body, recipient) : null,
    signedAt: signedAt(header),
    status: null,
    answeredAtMs: null,
  };
}

function judge(header: string, body: Buffer, { signingSecret, signatureOffMs }: Recipient): string {
  const toleranceSeconds = TOLERANCE_SECONDS + signatureOffMs / 1000;
  try {
    verifySignature({ header, body, secret: signingSecret, toleranceSeconds });
    return 'valid';
  } catch (error) {
    if (error instanceof SignatureVerificationError) return error.reason;
    throw error;
  }
}

function signedAt(header: string): number | null {
  const t = /(?:^|,)t=(\d+)/.exec(header)?.[1];
  return t === undefined ? null : Number(t);
}

function eventIdIn(body: Buffer): string | null {
  try {
    const { id } = JSON.parse(body.toString()) as { id?: unknown };
    return typeof id === 'string' ? id : null;
  } catch {
    return null; // not JSON: the checker reports it
  }
}
